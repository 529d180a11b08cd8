// Reads and writes the open tree of a proof that a checkpoint keeps.
#pragma once

#include <string>
#include <string_view>

#include "core/status.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// {"sha256": digest of the bytes, "state": the bytes in base64}.
void write_open_proof(std::string_view bytes, JsonWriter& json);

// Errors: kInvalidInput with a JSON pointer, if the state is no base64 or has another digest.
Result<std::string> read_open_proof(JsonValue value);

}  // namespace shardwright
