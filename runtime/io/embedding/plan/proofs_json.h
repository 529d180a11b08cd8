// Writes what proves a plan's bound, and reads the open tree of a proof that a checkpoint keeps.
#pragma once

#include <string>

#include "core/status.h"
#include "runtime/embedding/result/plan_result.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// `certificate` and `open_proof`, where there are any. The latter is {"sha256": digest of the
// bytes, "state": the bytes in base64}.
void write_proofs(const EmbeddingPlanResult& result, JsonWriter& json);

// Errors: kInvalidInput with a JSON pointer, if the state is no base64 or has another digest.
Result<std::string> read_open_proof(JsonValue value);

}  // namespace shardwright
