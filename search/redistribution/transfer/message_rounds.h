// Puts the bytes of transfers into rounds in which every rank has memory for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/budget.h"

namespace shardwright::redistribution {

// A stream may be sent from byte `begin` on once another one has arrived up to byte `end`.
struct StreamWait {
  std::int64_t begin = 0;
  std::size_t transfer = 0;
  std::int64_t end = 0;
};

// Sets the runs of all transfers, round after round, so that no rank sends or receives more than
// the memory in a round, and none passes on what did not arrive in an earlier one. `waits`: by
// transfer, by ascending `begin`; those that are waited for wait for none. Returns the number of
// rounds, or nullopt if the budget was interrupted. Precondition: 1 <= message_bytes <=
// memory_bytes. O(rounds * transfers * log transfers).
std::optional<std::int64_t> assign_rounds(const TransferProblem& problem,
                                          std::int64_t message_bytes, std::int64_t memory_bytes,
                                          const std::vector<std::vector<StreamWait>>& waits,
                                          const Budget& budget, std::vector<Transfer>& transfers);

}  // namespace shardwright::redistribution
