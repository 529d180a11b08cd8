// Puts messages into rounds in which every rank has memory for what it sends and receives.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"

namespace shardwright::redistribution {

// Sets the messages of all transfers. Each takes the first round with room at both ends, after the
// messages before it in its stream. Returns the number of rounds. Transfers take their turns by the
// distance from sender to receiver, so that senders serve different receivers first.
// Precondition: 1 <= message_bytes <= memory_bytes.
// O(transfers * rounds), whatever the number of messages.
std::int64_t assign_rounds(const TransferProblem& problem, std::int64_t message_bytes,
                           std::int64_t memory_bytes, std::vector<Transfer>& transfers);

}  // namespace shardwright::redistribution
