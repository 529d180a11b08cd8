// Turns requests in XLA's form into cost instances.
#pragma once

#include "core/operators/instance/lowered_instance.h"
#include "core/operators/instance/sharding_request.h"
#include "core/status.h"

namespace shardwright::operators {

// Merges followers. An edge that holds memory becomes a node, incompatible aliases become forbidden
// pairs, and departures get a time point of their own after those of memory. Fractions of bytes are
// rounded up. Errors: as check() and LoweredInstance::make.
Result<OperatorProblem> lower(const ShardingRequest& request);

}  // namespace shardwright::operators
