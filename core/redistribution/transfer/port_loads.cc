#include "core/redistribution/transfer/port_loads.h"

#include <algorithm>
#include <map>

namespace shardwright::redistribution {

std::size_t place_of(const TransferProblem& problem, Rank rank) {
  const std::vector<Rank>& ranks = problem.ranks();
  return static_cast<std::size_t>(std::lower_bound(ranks.begin(), ranks.end(), rank) -
                                  ranks.begin());
}

PortLoads port_loads(const TransferProblem& problem, const TransferPlan& plan) {
  PortLoads loads;
  loads.ranks.resize(problem.ranks().size());
  std::map<std::int64_t, HostLoad> hosts;
  if (problem.hosts()) {
    for (const Rank rank : problem.ranks())
      hosts[problem.host_of(rank)].host = problem.host_of(rank);
  }
  for (const Transfer& transfer : plan.transfers) {
    RankLoad& sender = loads.ranks[place_of(problem, transfer.from)];
    if (transfer.from == transfer.to) {
      sender.kept += transfer.bytes;
      continue;
    }
    sender.sent += transfer.bytes;
    loads.ranks[place_of(problem, transfer.to)].received += transfer.bytes;
    const std::int64_t from = problem.host_of(transfer.from);
    const std::int64_t to = problem.host_of(transfer.to);
    if (from == to) {
      sender.sent_within_host += transfer.bytes;
    } else {
      hosts[from].out += transfer.bytes;
      hosts[to].in += transfer.bytes;
    }
  }
  for (const auto& [number, host] : hosts)
    loads.hosts.push_back(host);
  return loads;
}

std::int64_t busiest_bytes(const PortLoads& loads) {
  std::int64_t most = 0;
  for (const RankLoad& rank : loads.ranks)
    most = std::max({most, rank.sent, rank.received});
  return most;
}

double bandwidth(const TransferProblem& problem, TransferPort::Kind kind) {
  if (!problem.hosts()) return 1;
  const bool within = kind == TransferPort::Kind::kSend || kind == TransferPort::Kind::kReceive;
  return within ? problem.hosts()->intra_host_bw : problem.hosts()->inter_host_bw;
}

double busiest(const TransferProblem& problem, const PortLoads& loads) {
  std::int64_t of_rank = 0;
  for (const RankLoad& rank : loads.ranks)
    of_rank = std::max({of_rank, rank.sent_within_host, rank.received});
  std::int64_t of_host = 0;
  for (const HostLoad& host : loads.hosts)
    of_host = std::max({of_host, host.out, host.in});
  return std::max(static_cast<double>(of_rank) / bandwidth(problem, TransferPort::Kind::kSend),
                  static_cast<double>(of_host) / bandwidth(problem, TransferPort::Kind::kHostOut));
}

double proved(const TransferProblem& problem, const TransferBound& bound) {
  double sum = 0;
  for (const TransferPort& port : bound.ports)
    sum += bandwidth(problem, port.kind);
  return bound.ports.empty() ? 0 : static_cast<double>(bound.bytes) / sum;
}

double proved(const TransferProblem& problem, const TransferPlan& plan) {
  double best = 0;
  for (const TransferBound& bound : plan.bounds)
    best = std::max(best, proved(problem, bound));
  return best;
}

}  // namespace shardwright::redistribution
