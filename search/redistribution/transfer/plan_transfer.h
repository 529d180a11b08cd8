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

// A condition on a transfer: its bytes from `begin` on may be sent only when the transfer with
// index `transfer` has arrived up to byte `end`.
struct StreamWait {
  std::int64_t begin = 0;
  std::size_t transfer = 0;
  std::int64_t end = 0;
};

// Sets the runs of all transfers, round after round; a run is the bytes of a transfer in one round.
// In a round, no rank sends or receives more than `memory_bytes`, or passes on bytes that did not
// arrive in an earlier round. `waits`: by transfer, by ascending `begin`; awaited bytes must not
// wait themselves. Returns the number of rounds, or nullopt if the budget was interrupted.
// Precondition: 1 <= message_bytes <= memory_bytes. O(rounds * transfers * log transfers).
std::optional<std::int64_t> assign_rounds(const TransferProblem& problem,
                                          std::int64_t message_bytes, std::int64_t memory_bytes,
                                          const std::vector<std::vector<StreamWait>>& waits,
                                          const Budget& budget, std::vector<Transfer>& transfers);

struct TransferLimits {
  // Long messages have less overhead. Short messages fill the memory of a round better.
  std::int64_t message_bytes = std::int64_t{64} << 20;
  // Bytes that a rank may send, and may receive, per round. Twice the bytes halve the rounds.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
};

// A plan stores a run for every transfer and round, so more rounds would need much memory. The
// times in a plan also leave out the latency that every round adds.
inline constexpr std::int64_t kMostTransferRounds = 65536;

struct PlannedTransfer {
  TransferPlan plan;
  std::uint64_t work = 0;  // counted steps of the planning; the same on every machine
};

// Plans who sends what to whom, in which round. Deterministic. Errors: kInvalidInput for limits
// below 1, for messages that exceed the memory, and for a memory that needs over
// kMostTransferRounds rounds; kStopped.
Result<PlannedTransfer> plan_transfer(const TransferProblem& problem, const TransferLimits& limits,
                                      const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
