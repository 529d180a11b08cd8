// Puts the bytes of transfers into rounds in which every rank has memory for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/budget.h"

namespace shardwright::redistribution {

// Sets the runs of all transfers, round after round, so that no rank sends or receives more than
// the memory in a round. Returns the number of rounds, or nullopt if the budget was interrupted.
// Precondition: 1 <= message_bytes <= memory_bytes.
// O(rounds * transfers * log transfers).
std::optional<std::int64_t> assign_rounds(const TransferProblem& problem,
                                          std::int64_t message_bytes, std::int64_t memory_bytes,
                                          const Budget& budget, std::vector<Transfer>& transfers);

}  // namespace shardwright::redistribution
