#include "search/redistribution/transfer/message_rounds.h"

#include <algorithm>
#include <tuple>

#include "core/redistribution/transfer/port_loads.h"

namespace shardwright::redistribution {
namespace {

// The memory of a rank, round by round, in one direction.
class Staging {
 public:
  Staging(std::int64_t message_bytes, std::int64_t memory_bytes)
      : message_bytes_(message_bytes), memory_bytes_(memory_bytes) {}

  // No round before this one has room for a full message.
  std::int64_t first_open() const { return first_open_; }
  std::int64_t room(std::int64_t round) const {
    const auto index = static_cast<std::size_t>(round);
    return index < used_.size() ? memory_bytes_ - used_[index] : memory_bytes_;
  }
  void use(std::int64_t round, std::int64_t bytes) {
    const auto index = static_cast<std::size_t>(round);
    if (index >= used_.size()) used_.resize(index + 1, 0);
    used_[index] += bytes;
    while (room(first_open_) < message_bytes_)
      ++first_open_;
  }

 private:
  std::int64_t message_bytes_;
  std::int64_t memory_bytes_;
  std::int64_t first_open_ = 0;
  std::vector<std::int64_t> used_;  // by round
};

class RoundPlanner {
 public:
  RoundPlanner(std::size_t ranks, std::int64_t message_bytes, std::int64_t memory_bytes)
      : message_bytes_(message_bytes),
        senders_(ranks, Staging(message_bytes, memory_bytes)),
        receivers_(ranks, Staging(message_bytes, memory_bytes)) {}

  void add(Transfer& transfer, std::size_t from, std::size_t to) {
    Staging& sender = senders_[from];
    Staging& receiver = receivers_[to];
    std::int64_t left = transfer.bytes;
    for (std::int64_t round = std::max(sender.first_open(), receiver.first_open()); left > 0;
         ++round) {
      const std::int64_t room = std::min(sender.room(round), receiver.room(round));
      const std::int64_t bytes = room >= left ? left : room / message_bytes_ * message_bytes_;
      if (bytes == 0) continue;
      sender.use(round, bytes);
      receiver.use(round, bytes);
      transfer.messages.push_back({round, (bytes + message_bytes_ - 1) / message_bytes_});
      left -= bytes;
      rounds_ = std::max(rounds_, round + 1);
    }
  }

  std::int64_t rounds() const { return rounds_; }

 private:
  std::int64_t message_bytes_;
  std::vector<Staging> senders_;
  std::vector<Staging> receivers_;
  std::int64_t rounds_ = 0;
};

}  // namespace

std::int64_t assign_rounds(const TransferProblem& problem, std::int64_t message_bytes,
                           std::int64_t memory_bytes, std::vector<Transfer>& transfers) {
  const std::size_t ranks = problem.ranks().size();
  struct Turn {
    std::size_t distance, from, to, transfer;
  };
  std::vector<Turn> turns;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (transfers[i].from == transfers[i].to) continue;
    const std::size_t from = place_of(problem, transfers[i].from);
    const std::size_t to = place_of(problem, transfers[i].to);
    turns.push_back({(to + ranks - from) % ranks, from, to, i});
  }
  std::sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return std::tie(a.distance, a.from) < std::tie(b.distance, b.from);
  });
  RoundPlanner planner(ranks, message_bytes, memory_bytes);
  for (const Turn& turn : turns)
    planner.add(transfers[turn.transfer], turn.from, turn.to);
  return planner.rounds();
}

}  // namespace shardwright::redistribution
