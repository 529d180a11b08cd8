#include "runtime/program/transfer_tensors.h"

#include <algorithm>
#include <utility>

#include "core/redistribution/transfer/check_transfer.h"

namespace shardwright {

using namespace redistribution;

namespace {

std::int64_t quotient_up(std::int64_t bytes, std::int64_t unit) {
  return bytes / unit + (bytes % unit > 0 ? 1 : 0);
}

}  // namespace

Result<TransferAnswer> transfer_tensors(const TransferProblem& problem,
                                        const TransferOptions& options) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlannedTransfer planned,
                               plan_transfer(problem, options.limits, options.stop));
  SHARDWRIGHT_RETURN_IF_ERROR(check_transfer(problem, planned.plan));
  TransferAnswer answer;
  answer.loads = port_loads(problem, planned.plan);
  answer.busiest = busiest(problem, answer.loads);
  answer.bound = proved(problem, planned.plan);
  const std::int64_t memory = options.limits.memory_bytes;
  for (const RankLoad& rank : answer.loads.ranks) {
    answer.moved_bytes += rank.sent;
    answer.kept_bytes += rank.kept;
    const std::int64_t most = std::max(rank.sent, rank.received);
    answer.least_rounds = std::max(answer.least_rounds, quotient_up(most, memory));
  }
  for (const Transfer& transfer : planned.plan.transfers) {
    for (const MessageRun& run : transfer.runs)
      answer.messages += quotient_up(run.bytes, planned.plan.message_bytes);
  }
  answer.work = planned.work;
  answer.plan = std::move(planned.plan);
  return answer;
}

}  // namespace shardwright
