// Plans the transfer of all tensors of a model between two layouts.
#pragma once

#include <cstdint>
#include <stop_token>

#include "core/redistribution/transfer/transfer_plan.h"
#include "core/status.h"

namespace shardwright::redistribution {

struct TransferLimits {
  // Long messages have less overhead; short ones fill the memory of a round better.
  std::int64_t message_bytes = std::int64_t{64} << 20;
  // What a rank sends in a round, and what it receives in a round. Twice as much needs half as many
  // rounds.
  std::int64_t memory_bytes = std::int64_t{1} << 30;
};

// A plan has a run for every transfer and round, so more rounds need much memory; and each takes
// the latency of a message, which no figure here counts.
inline constexpr std::int64_t kMostTransferRounds = 65536;

struct PlannedTransfer {
  TransferPlan plan;
  std::uint64_t work = 0;  // overlapping shards and steps of flows; the same on every machine
};

// The same problem and limits give the same plan. Errors: kInvalidInput for limits below 1, for
// messages that exceed the memory, and for a memory that needs over kMostTransferRounds rounds;
// kStopped.
Result<PlannedTransfer> plan_transfer(const TransferProblem& problem, const TransferLimits& limits,
                                      const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
