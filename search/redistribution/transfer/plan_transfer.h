// Plans transfers in rounds that respect the memory of every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "core/status.h"
#include "search/budget.h"

namespace shardwright::redistribution {

// Bytes of a stream from `begin` on may be sent once `transfer` has arrived up to byte `end`.
struct StreamWait {
  std::int64_t begin = 0;
  std::size_t transfer = 0;
  std::int64_t end = 0;
};

// Sets the runs of all transfers, round after round. No rank sends or receives more than the memory
// in a round, and none passes on bytes that did not arrive in an earlier round. `waits`: by
// transfer, by ascending `begin`; bytes that other streams wait for do not wait themselves. Returns
// the number of rounds, or nullopt if the budget was interrupted. Precondition: 1 <= message_bytes
// <= memory_bytes. O(rounds * transfers * log transfers).
std::optional<std::int64_t> assign_rounds(const TransferProblem& problem,
                                          std::int64_t message_bytes, std::int64_t memory_bytes,
                                          const std::vector<std::vector<StreamWait>>& waits,
                                          const Budget& budget, std::vector<Transfer>& transfers);

struct TransferLimits {
  // Long messages have less overhead; short ones fill the memory of a round better.
  std::int64_t message_bytes = std::int64_t{64} << 20;
  // Bytes that a rank may send, and may receive, per round. Doubling it halves the rounds.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
};

// A plan has a run for every transfer and round, so more rounds would need much memory. Each round
// also costs the latency of a message, which no time in the plan includes.
inline constexpr std::int64_t kMostTransferRounds = 65536;

struct PlannedTransfer {
  TransferPlan plan;
  std::uint64_t work = 0;  // overlapping shards and steps of flows; the same on every machine
};

// Plans who sends what to whom, in which round. Deterministic. Errors: kInvalidInput for limits
// below 1, for messages that exceed the memory, and for a memory that needs over
// kMostTransferRounds rounds; kStopped.
Result<PlannedTransfer> plan_transfer(const TransferProblem& problem, const TransferLimits& limits,
                                      const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
