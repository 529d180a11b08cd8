#include "search/redistribution/transfer/plan_transfer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"
#include "core/text/printable.h"
#include "search/budget.h"
#include "search/redistribution/transfer/demands.h"
#include "search/redistribution/transfer/piece_cutter.h"
#include "search/redistribution/transfer/senders.h"

namespace shardwright::redistribution {
namespace {

// A run has at least 1 / kLeastPart of a message, unless it ends the transfer. A lower limit would
// make more short messages; a higher one would leave memory of a round unused.
constexpr std::int64_t kLeastPart = 8;

struct Pending {
  std::size_t transfer;
  std::size_t from;
  std::int64_t left;
  std::size_t waits = 0;  // number of waits that are over
};

// Fills one round after the other. A receiver takes from its senders in turn until its memory is
// full. Senders with most bytes left to send come first, since they determine the number of rounds.
class RoundPlanner {
 public:
  RoundPlanner(const TransferProblem& problem, std::int64_t message_bytes,
               std::int64_t memory_bytes, const std::vector<std::vector<StreamWait>>& waits,
               std::vector<Transfer>& transfers)
      : least_bytes_((message_bytes + kLeastPart - 1) / kLeastPart),
        memory_bytes_(memory_bytes),
        waits_(waits),
        transfers_(transfers),
        arrived_(transfers.size(), 0),
        pending_(problem.ranks().size()),
        to_send_(problem.ranks().size(), 0),
        to_receive_(problem.ranks().size(), 0) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const Transfer& transfer = transfers[i];
      if (transfer.from == transfer.to) continue;
      const std::size_t from = place_of(problem, transfer.from);
      const std::size_t to = place_of(problem, transfer.to);
      pending_[to].push_back({i, from, transfer.bytes});
      to_send_[from] += transfer.bytes;
      to_receive_[to] += transfer.bytes;
    }
    for (std::size_t to = 0; to < pending_.size(); ++to) {
      if (!pending_[to].empty()) receivers_.push_back(to);
    }
  }

  std::optional<std::int64_t> run(const Budget& budget) {
    for (; !receivers_.empty(); ++round_) {
      if (budget.interrupted()) return std::nullopt;
      room_.assign(pending_.size(), memory_bytes_);
      std::stable_sort(receivers_.begin(), receivers_.end(), [&](std::size_t a, std::size_t b) {
        return to_receive_[a] > to_receive_[b];
      });
      for (const std::size_t to : receivers_)
        fill(to);
      for (const auto& [transfer, bytes] : arriving_)
        arrived_[transfer] += bytes;
      arriving_.clear();
      receivers_.erase(std::remove_if(receivers_.begin(), receivers_.end(),
                                      [&](std::size_t to) { return pending_[to].empty(); }),
                       receivers_.end());
    }
    return round_;
  }

 private:
  // Returns the number of unsent bytes before the first byte that still waits.
  std::int64_t sendable(Pending& pending) const {
    const std::vector<StreamWait>& waits = waits_[pending.transfer];
    const std::int64_t sent = transfers_[pending.transfer].bytes - pending.left;
    while (pending.waits < waits.size() &&
           arrived_[waits[pending.waits].transfer] >= waits[pending.waits].end)
      ++pending.waits;
    return pending.waits == waits.size() ? pending.left : waits[pending.waits].begin - sent;
  }

  // Fills the memory of a receiver in this round.
  void fill(std::size_t to) {
    std::vector<Pending>& pending = pending_[to];
    std::stable_sort(pending.begin(), pending.end(), [&](const Pending& a, const Pending& b) {
      return to_send_[a.from] > to_send_[b.from];
    });
    std::int64_t room = memory_bytes_;
    for (Pending& next : pending) {
      const std::int64_t bytes = std::min({next.left, room, room_[next.from], sendable(next)});
      if (bytes == 0 || (bytes < next.left && bytes < least_bytes_)) continue;
      room -= bytes;
      room_[next.from] -= bytes;
      next.left -= bytes;
      to_send_[next.from] -= bytes;
      to_receive_[to] -= bytes;
      transfers_[next.transfer].runs.push_back({round_, bytes});
      arriving_.emplace_back(next.transfer, bytes);
      if (room == 0) break;
    }
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [](const Pending& done) { return done.left == 0; }),
                  pending.end());
  }

  std::int64_t least_bytes_;
  std::int64_t memory_bytes_;
  const std::vector<std::vector<StreamWait>>& waits_;
  std::vector<Transfer>& transfers_;
  std::vector<std::int64_t> arrived_;                           // by transfer, in earlier rounds
  std::vector<std::pair<std::size_t, std::int64_t>> arriving_;  // transfers and bytes of this round
  std::vector<std::vector<Pending>> pending_;                   // by receiver
  std::vector<std::int64_t> to_send_;  // by rank: bytes that are in no round yet
  std::vector<std::int64_t> to_receive_;
  std::vector<std::size_t> receivers_;  // ranks with pending transfers
  std::vector<std::int64_t> room_;      // by rank: bytes it may still send in this round
  std::int64_t round_ = 0;
};

}  // namespace

std::optional<std::int64_t> assign_rounds(const TransferProblem& problem,
                                          std::int64_t message_bytes, std::int64_t memory_bytes,
                                          const std::vector<std::vector<StreamWait>>& waits,
                                          const Budget& budget, std::vector<Transfer>& transfers) {
  return RoundPlanner(problem, message_bytes, memory_bytes, waits, transfers).run(budget);
}

namespace {

// A part that is passed on has the memory of a round divided by this. With larger parts, receivers
// would wait longer; smaller parts would cut tensors into more pieces.
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
