// How many bytes must pass through some ports, whichever replicas send them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"

namespace shardwright::redistribution {

// The bytes that ranks want and do not hold, and that no way leads to without using one of the
// ports. A rank that holds elements can send them within its host by its port kSend, and to another
// host by kHostOut and kHostIn of the two hosts; both use kReceive of the receiver. A rank that has
// received what it wants can pass it on within its host by kSend. O(groups * source boxes * target
// boxes * ranks of a target box).
std::int64_t passing_bytes(const TransferProblem& problem, const std::vector<TransferPort>& ports);

}  // namespace shardwright::redistribution
