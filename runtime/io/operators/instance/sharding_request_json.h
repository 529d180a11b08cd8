// Reads cost instances in XLA's format from a parsed document.
#pragma once

#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Errors: kInvalidInput with the place in the document.
Result<operators::ShardingRequest> read_sharding_request(JsonValue root);

}  // namespace shardwright
