#include "runtime/program/communication_report.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "runtime/program/rank_operators.h"

namespace shardwright {
namespace {

using program::Rank;
using Kind = RankOperator::Kind;

// A message or collective that ranks wait for.
struct Meeting {
  const RankOperator* op = nullptr;  // of the first rank that has it
  std::vector<std::size_t> members;  // waiting ranks, as indices into ranks_
  std::size_t expected = 0;          // ranks of the report that take part
  double ready_us = 0;               // arrival of the latest rank so far
  std::optional<double> start_us;
  std::size_t communication = 0;  // index in the report, once begun
};

// Replays the operators of all ranks.
// Thread safety: one thread at a time.
class Replay {
 public:
  explicit Replay(std::vector<std::vector<RankOperator>> operators, std::vector<Rank> ranks)
      : operators_(std::move(operators)),
        ranks_(std::move(ranks)),
        next_(ranks_.size()),
        clock_(ranks_.size()) {
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      report_.ranks.push_back({ranks_[place], 0, 0, 0, 0, 0});
      number_meetings(place);
    }
  }

  CommunicationReport run() {
    for (std::size_t place = 0; place < ranks_.size(); ++place)
      ready_.push_back(place);
    do {
      while (!ready_.empty()) {
        const std::size_t place = ready_.back();
        ready_.pop_back();
        advance(place);
      }
    } while (release_one());
    return finish();
  }

 private:
  using Key = std::tuple<bool, std::vector<Rank>, std::size_t>;  // (is a message, group, number)

  // Numbers the meetings of one rank: the n-th operators of all ranks on one group are one meeting.
  void number_meetings(std::size_t place) {
    std::map<std::tuple<bool, std::vector<Rank>>, std::size_t> counts;
    std::vector<std::size_t>& numbers = meeting_of_.emplace_back();
    for (const RankOperator& op : operators_[place]) {
      if (op.kind == Kind::kLocal) {
        numbers.push_back(0);
        continue;
      }
      const bool is_message = op.kind != Kind::kCollective;
      const std::size_t count = counts[{is_message, op.group}]++;
      const auto [at, added] =
          numbers_.try_emplace(Key{is_message, op.group, count}, meetings_.size());
      if (added) meetings_.emplace_back();
      Meeting& meeting = meetings_[at->second];
      if (meeting.op == nullptr) meeting.op = &op;
      ++meeting.expected;
      numbers.push_back(at->second);
    }
  }

  // Runs a rank, an index into ranks_, until it must wait for another rank.
  void advance(std::size_t place) {
    std::vector<RankOperator>& operators = operators_[place];
    while (next_[place] < operators.size()) {
      const RankOperator& op = operators[next_[place]];
      if (op.kind == Kind::kLocal) {
        clock_[place] += op.us;
        report_.ranks[place].local_us += op.us;
        ++next_[place];
        continue;
      }
      Meeting& meeting = meetings_[meeting_of_[place][next_[place]]];
      if (op.kind == Kind::kSend) {
        begin(meeting, clock_[place]);
        leave(place, clock_[place] + op.us);
        wake(meeting);
        continue;
      }
      if (op.kind == Kind::kReceive && meeting.start_us) {
        receive(place, meeting);
        continue;
      }
      meeting.members.push_back(place);
      meeting.ready_us = std::max(meeting.ready_us, clock_[place]);
      if (op.kind == Kind::kReceive || meeting.members.size() < meeting.expected) return;
      hold(meeting);
      return;
    }
  }

  void begin(Meeting& meeting, double start_us) {
    meeting.start_us = start_us;
    meeting.communication = report_.communications.size();
    const RankOperator& op = *meeting.op;
    report_.communications.push_back({op.kind == Kind::kReceive ? "send_v2" : op.type, op.group,
                                      start_us, op.us, start_us, op.pair_bytes, op.tensor,
                                      op.reader});
  }

  // Takes the reader from the receiver: the sender may have no operator after the message.
  void receive(std::size_t place, const Meeting& meeting) {
    const RankOperator& op = operators_[place][next_[place]];
    ReportedCommunication& message = report_.communications[meeting.communication];
    message.receive_us = std::max(clock_[place], *meeting.start_us);
    message.reader = op.reader;
    leave(place, message.receive_us + op.us);
  }

  // Runs a collective on all ranks that wait for it.
  void hold(Meeting& meeting) {
    begin(meeting, meeting.ready_us);
    for (const std::size_t member : meeting.members) {
      leave(member, meeting.ready_us + meeting.op->us);
      ready_.push_back(member);
    }
    meeting.members.clear();
  }

  // Makes the waiting receiver look at the message again.
  void wake(Meeting& meeting) {
    for (const std::size_t member : meeting.members)
      ready_.push_back(member);
    meeting.members.clear();
  }

  void leave(std::size_t place, double at_us) {
    report_.ranks[place].communicating_us += operators_[place][next_[place]].us;
    clock_[place] = at_us;
    ++next_[place];
  }

  // Called when every rank waits. Begins the earliest meeting without its ranks that are not part
  // of the report. Returns false if no rank waits.
  bool release_one() {
    Meeting* first = nullptr;
    for (Meeting& meeting : meetings_) {
      if (meeting.members.empty()) continue;
      if (first == nullptr || meeting.ready_us < first->ready_us) first = &meeting;
    }
    if (first != nullptr) hold(*first);
    return first != nullptr;
  }

  CommunicationReport finish() {
    std::stable_sort(report_.communications.begin(), report_.communications.end(),
                     [](const auto& a, const auto& b) { return a.start_us < b.start_us; });
    for (std::size_t place = 0; place < ranks_.size(); ++place) {
      report_.ranks[place].finish_us = clock_[place];
      report_.total_us = std::max(report_.total_us, clock_[place]);
    }
    for (const ReportedCommunication& communication : report_.communications)
      count_bytes(communication);
    return std::move(report_);
  }

  void count_bytes(const ReportedCommunication& communication) {
    const bool is_message = communication.type == "send_v2";
    const auto others = static_cast<std::int64_t>(communication.ranks.size()) - 1;
    const std::int64_t bytes = communication.pair_bytes * (is_message ? 1 : others);
    for (std::size_t i = 0; i < communication.ranks.size(); ++i) {
      const bool sends = !is_message || i == 0;
      const bool receives = !is_message || i == 1;
      report_.moved_bytes += sends ? bytes : 0;
      const auto place =
          std::lower_bound(ranks_.begin(), ranks_.end(), communication.ranks[i]) - ranks_.begin();
      if (place == std::ssize(ranks_) ||
          ranks_[static_cast<std::size_t>(place)] != communication.ranks[i])
        continue;
      ReportedRankLoad& load = report_.ranks[static_cast<std::size_t>(place)];
      load.sent += sends ? bytes : 0;
      load.received += receives ? bytes : 0;
    }
  }

  std::vector<std::vector<RankOperator>> operators_;  // by place (index in ranks_)
  std::vector<Rank> ranks_;                           // ascending
  std::vector<std::size_t> next_;                     // next operator, by place
  std::vector<double> clock_;                         // us, by place
  std::vector<Meeting> meetings_;
  std::map<Key, std::size_t> numbers_;                // indices of meetings_
  std::vector<std::vector<std::size_t>> meeting_of_;  // index of the meeting, by place and operator
  std::vector<std::size_t> ready_;                    // places that can continue
  CommunicationReport report_;
};

}  // namespace

const ReportedRankLoad& CommunicationReport::load_of(Rank rank) const {
  return *std::lower_bound(
      ranks.begin(), ranks.end(), rank,
      [](const ReportedRankLoad& load, Rank wanted) { return load.rank < wanted; });
}

CommunicationReport make_communication_report(std::span<const RankedProgram> programs,
                                              const program::Cluster& cluster) {
  std::vector<RankedProgram> sorted(programs.begin(), programs.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const RankedProgram& a, const RankedProgram& b) { return a.rank < b.rank; });
  std::vector<std::vector<RankOperator>> operators;
  std::vector<Rank> ranks;
  for (const RankedProgram& ranked : sorted) {
    operators.push_back(inserted_operators(ranked, cluster));
    ranks.push_back(ranked.rank);
  }
  return Replay(std::move(operators), std::move(ranks)).run();
}

CommunicationReport communication_of(const program::ReshardResult& result,
                                     const program::Cluster& cluster) {
  std::vector<RankedProgram> ranks;
  for (const program::RankProgram& rank : result.ranks)
    ranks.push_back({rank.rank, &rank.program});
  return make_communication_report(ranks, cluster);
}

}  // namespace shardwright
