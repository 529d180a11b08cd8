#include "runtime/report/program/transfer_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace shardwright {
namespace {

using namespace redistribution;

std::int64_t quotient_up(std::int64_t value, std::int64_t unit) {
  return value / unit + (value % unit > 0 ? 1 : 0);
}

// The blocks of `width` numbers that the ranks, which ascend, are in.
std::vector<RankBlock> blocks_of(const std::vector<Rank>& ranks, std::int64_t width) {
  std::vector<RankBlock> blocks;
  for (const Rank rank : ranks) {
    const bool joins = !blocks.empty() && rank / width == blocks.back().first / width;
    if (!joins) blocks.push_back({rank, rank, 0});
    blocks.back().last = rank;
    ++blocks.back().ranks;
  }
  return blocks;
}

// At most `most` blocks: of one rank, of hosts, or of twice, four times, ... as many.
std::vector<RankBlock> few_blocks(const TransferProblem& problem, const std::vector<Rank>& ranks,
                                  std::size_t most) {
  std::vector<RankBlock> blocks = blocks_of(ranks, 1);
  std::int64_t width =
      problem.hosts() ? std::max<std::int64_t>(problem.hosts()->ranks_per_host, 1) : 2;
  for (; blocks.size() > most; width *= 2)
    blocks = blocks_of(ranks, width);
  return blocks;
}

std::size_t block_of(const std::vector<RankBlock>& blocks, Rank rank) {
  const auto found =
      std::lower_bound(blocks.begin(), blocks.end(), rank,
                       [](const RankBlock& block, Rank wanted) { return block.last < wanted; });
  return static_cast<std::size_t>(found - blocks.begin());
}

void fill_flows(const TransferProblem& problem, const TransferAnswer& answer,
                TransferReport& report) {
  std::vector<Rank> senders, receivers;
  for (std::size_t i = 0; i < problem.ranks().size(); ++i) {
    if (answer.loads.ranks[i].sent > 0) senders.push_back(problem.ranks()[i]);
    if (answer.loads.ranks[i].received > 0) receivers.push_back(problem.ranks()[i]);
  }
  report.senders = few_blocks(problem, senders, TransferReport::kMostBlocks);
  report.receivers = few_blocks(problem, receivers, TransferReport::kMostBlocks);
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> bytes;
  for (const Transfer& transfer : answer.plan.transfers) {
    if (transfer.from == transfer.to || transfer.bytes == 0) continue;
    bytes[{block_of(report.senders, transfer.from), block_of(report.receivers, transfer.to)}] +=
        transfer.bytes;
  }
  for (const auto& [pair, sum] : bytes)
    report.flows.push_back({pair.first, pair.second, sum});
}

void fill_loads(const TransferProblem& problem, const PortLoads& loads, TransferReport& report) {
  for (const RankBlock& block : few_blocks(problem, problem.ranks(), TransferReport::kMostLoads))
    report.loads.push_back({block, 0, 0, 0});
  std::size_t at = 0;
  for (std::size_t i = 0; i < problem.ranks().size(); ++i) {
    while (report.loads[at].block.last < problem.ranks()[i])
      ++at;
    ReportedLoad& most = report.loads[at];
    most.sent = std::max(most.sent, loads.ranks[i].sent);
    most.received = std::max(most.received, loads.ranks[i].received);
    most.kept = std::max(most.kept, loads.ranks[i].kept);
  }
}

// What ranks send or receive in each round.
class RoundLoads {
 public:
  void add(std::int64_t round, Rank rank, std::int64_t bytes) {
    parts_.emplace_back(round, rank, bytes);
  }
  // Calls function(round, the most bytes of a rank) for each round.
  template <class Function>
  void for_each_most(const Function& function) {
    std::sort(parts_.begin(), parts_.end());
    for (std::size_t i = 0; i < parts_.size();) {
      const auto [round, rank, first] = parts_[i];
      std::int64_t sum = 0;
      for (; i < parts_.size() && std::get<0>(parts_[i]) == round && std::get<1>(parts_[i]) == rank;
           ++i)
        sum += std::get<2>(parts_[i]);
      function(round, sum);
    }
  }

 private:
  std::vector<std::tuple<std::int64_t, Rank, std::int64_t>> parts_;
};

void fill_rounds(const TransferPlan& plan, TransferReport& report) {
  const auto most = static_cast<std::int64_t>(TransferReport::kMostRounds);
  const std::int64_t width = std::max<std::int64_t>(quotient_up(plan.rounds, most), 1);
  for (std::int64_t first = 0; first < plan.rounds; first += width)
    report.rounds.push_back({first, std::min(first + width, plan.rounds) - 1, 0, 0, 0});
  const auto rounds_at = [&](std::int64_t round) -> ReportedRounds& {
    return report.rounds[static_cast<std::size_t>(round / width)];
  };
  RoundLoads sent, received;
  for (const Transfer& transfer : plan.transfers) {
    for (const MessageRun& run : transfer.runs) {
      rounds_at(run.round).bytes += run.bytes;
      sent.add(run.round, transfer.from, run.bytes);
      received.add(run.round, transfer.to, run.bytes);
    }
  }
  const auto raise = [](std::int64_t& value, std::int64_t other) {
    value = std::max(value, other);
  };
  sent.for_each_most(
      [&](std::int64_t round, std::int64_t bytes) { raise(rounds_at(round).most_sent, bytes); });
  received.for_each_most([&](std::int64_t round, std::int64_t bytes) {
    raise(rounds_at(round).most_received, bytes);
  });
}

void fill_groups(const TransferProblem& problem, const TransferPlan& plan, TransferReport& report) {
  std::vector<ReportedGroup>& groups = report.groups;
  for (std::size_t i = 0; i < problem.groups().size(); ++i) {
    const TensorGroup& group = problem.groups()[i];
    const std::int64_t bytes = num_elements(group.shape) * group.item_bytes;
    groups.push_back({i, bytes * static_cast<std::int64_t>(group.tensors.size()), 0});
  }
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.from == transfer.to) continue;
    for (const TransferPiece& piece : transfer.pieces) {
      groups[piece.group].moved_bytes +=
          num_elements(piece.box) * piece.count * problem.groups()[piece.group].item_bytes;
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ReportedGroup& a, const ReportedGroup& b) {
                     return std::tie(a.moved_bytes, a.bytes) > std::tie(b.moved_bytes, b.bytes);
                   });
  if (groups.size() > TransferReport::kMostGroups) groups.resize(TransferReport::kMostGroups);
}

}  // namespace

TransferReport make_transfer_report(const TransferProblem& problem, const TransferAnswer& answer) {
  TransferReport report;
  report.ports = busiest_ports(problem, answer);
  fill_flows(problem, answer, report);
  fill_loads(problem, answer.loads, report);
  fill_rounds(answer.plan, report);
  fill_groups(problem, answer.plan, report);
  return report;
}

}  // namespace shardwright
