#include "search/redistribution/transfer/plan_transfer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"
#include "core/text/size_word.h"
#include "search/budget.h"
#include "search/redistribution/transfer/demands/demands.h"
#include "search/redistribution/transfer/message_rounds.h"
#include "search/redistribution/transfer/piece_cutter.h"
#include "search/redistribution/transfer/senders/sender_choice.h"

namespace shardwright::redistribution {
namespace {

// A rank passes on so small a part of what it receives in a round. Half as many parts wait for
// longer, twice as many are cut into twice as many pieces.
constexpr std::int64_t kPassedParts = 16;

Status check_limits(const TransferLimits& limits) {
  if (limits.message_bytes < 1) return invalid_input("message_bytes", "must be at least 1");
  if (limits.memory_bytes >= limits.message_bytes) return {};
  return invalid_input("memory", "a message of " + std::to_string(limits.message_bytes) +
                                       " bytes must fit; raise it, or lower {message_bytes}");
}

std::int64_t quotient_up(std::int64_t bytes, std::int64_t unit) {
  return bytes / unit + (bytes % unit > 0 ? 1 : 0);
}

Status check_rounds(std::int64_t bytes, std::int64_t memory_bytes) {
  const std::int64_t rounds = quotient_up(bytes, memory_bytes);
  if (rounds <= kMostTransferRounds) return {};
  return invalid_input("memory", "is too small: a rank has " + std::to_string(bytes) +
                                       " bytes to send or receive, which would take " +
                                       std::to_string(rounds) + " rounds, and a plan has at most " +
                                       std::to_string(kMostTransferRounds) + "; give at least " +
                                       size_of_at_least(quotient_up(bytes, kMostTransferRounds)));
}

Error stopped() { return Error{ErrorCode::kStopped, "the planning was cancelled", ""}; }

}  // namespace

Result<PlannedTransfer> plan_transfer(const TransferProblem& problem, const TransferLimits& limits,
                                      const std::stop_token& stop) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_limits(limits));
  const Budget budget(std::nullopt, std::nullopt, stop);
  PlannedTransfer planned;
  const std::optional<Demands> demands = find_demands(problem, budget, planned.work);
  if (!demands) return stopped();
  std::optional<SenderChoice> choice = choose_senders(problem, *demands, budget, planned.work);
  if (!choice) return stopped();
  TransferPlan& plan = planned.plan;
  plan.message_bytes = limits.message_bytes;
  plan.memory_bytes = limits.memory_bytes;
  CutTransfers cut = cut_pieces(problem, *demands, *choice,
                                std::max(limits.message_bytes, limits.memory_bytes / kPassedParts));
  plan.transfers = std::move(cut.transfers);
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_rounds(busiest_bytes(port_loads(problem, plan)), limits.memory_bytes));
  const std::optional<std::int64_t> rounds = assign_rounds(
      problem, plan.message_bytes, plan.memory_bytes, cut.waits, budget, plan.transfers);
  if (!rounds) return stopped();
  plan.rounds = *rounds;
  plan.bounds = std::move(choice->bounds);
  return planned;
}

}  // namespace shardwright::redistribution
