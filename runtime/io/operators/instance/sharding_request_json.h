// Reads XLA's form of cost instances out of a larger document.
#pragma once

#include "core/operators/instance/sharding_request.h"
#include "core/status.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// Errors: kInvalidInput with the place in the document.
Result<operators::ShardingRequest> read_sharding_request(JsonValue root);

}  // namespace shardwright
