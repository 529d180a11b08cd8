#include "core/redistribution/transfer/port_loads.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>

namespace shardwright::redistribution {
namespace {

// A set of ports, by kind.
class PortSet {
 public:
  explicit PortSet(const std::vector<TransferPort>& ports) {
    for (const TransferPort& port : ports)
      numbers_[static_cast<std::size_t>(port.kind)].insert(port.number);
  }

  bool has(TransferPort::Kind kind, std::int64_t number) const {
    return of(kind).count(number) > 0;
  }
  bool has_any(TransferPort::Kind kind) const { return !of(kind).empty(); }

 private:
  const std::set<std::int64_t>& of(TransferPort::Kind kind) const {
    return numbers_[static_cast<std::size_t>(kind)];
  }

  std::set<std::int64_t> numbers_[4];
};

// The ranks that hold a box, and the hosts that can send the box without a port of the set.
struct Source {
  std::vector<Rank> holders;                 // ascending
  std::vector<std::int64_t> sending_hosts;   // ascending; a holder's kSend is not in the set
  std::vector<std::int64_t> outgoing_hosts;  // ascending; have a holder, kHostOut not in the set
};

void note_ways(const TransferProblem& problem, const PortSet& ports, Source& source) {
  for (const Rank holder : source.holders) {
    const std::int64_t host = problem.host_of(holder);
    if (!ports.has(TransferPort::Kind::kSend, holder) &&
        (source.sending_hosts.empty() || source.sending_hosts.back() != host)) {
      source.sending_hosts.push_back(host);
    }
    if (!ports.has(TransferPort::Kind::kHostOut, host) &&
        (source.outgoing_hosts.empty() || source.outgoing_hosts.back() != host)) {
      source.outgoing_hosts.push_back(host);
    }
  }
}

// Returns true if a copy can reach a rank of the host using no port of the set but its kReceive.
bool is_open(const PortSet& ports, const Source& source, std::int64_t host) {
  const auto& sending = source.sending_hosts;
  if (std::binary_search(sending.begin(), sending.end(), host)) return true;
  if (ports.has(TransferPort::Kind::kHostIn, host)) return false;
  const auto& outgoing = source.outgoing_hosts;
  return !outgoing.empty() && (outgoing.size() > 1 || outgoing.front() != host);
}

// Returns the number of `ranks` that cannot get their copy without a port of the set, whichever
// rank passes it on. Precondition: `ranks` are on one host, want the same box, and do not hold it.
std::int64_t copies_through(const PortSet& ports, const Source& source, std::int64_t host,
                            std::span<const Rank> ranks) {
  std::int64_t closed = 0;
  bool passes_on = false;         // some rank can send
  bool closed_passes_on = false;  // some rank with kReceive in the set can send
  for (const Rank rank : ranks) {
    const bool receives = ports.has(TransferPort::Kind::kReceive, rank);
    const bool sends = !ports.has(TransferPort::Kind::kSend, rank);
    closed += receives ? 1 : 0;
    passes_on = passes_on || sends;
    closed_passes_on = closed_passes_on || (receives && sends);
  }
  if (is_open(ports, source, host)) return closed;
  if (!passes_on) return std::ssize(ranks);
  return closed_passes_on ? closed : closed + 1;
}

std::int64_t common_elements(const Box& a, const Box& b) {
  std::int64_t count = 1;
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    const std::int64_t begin = std::max(a[dim].begin, b[dim].begin);
    const std::int64_t end = std::min(a[dim].end, b[dim].end);
    if (begin >= end) return 0;
    count *= end - begin;
  }
  return count;
}

// Returns the ranks that have each box in a layout, ascending.
std::map<Box, std::vector<Rank>> ranks_by_box(const TransferProblem& problem,
                                              const TensorGroup& group,
                                              const TensorLayout& layout) {
  std::map<Box, std::vector<Rank>> boxes;
  const std::vector<Rank>& ranks = problem.meshes()[layout.mesh].ranks;
  for (std::size_t device = 0; device < ranks.size(); ++device)
    boxes[problem.box(group.shape, layout, device)].push_back(ranks[device]);
  for (auto& [box, of_box] : boxes)
    std::sort(of_box.begin(), of_box.end());
  return boxes;
}

std::int64_t copies_through(const TransferProblem& problem, const PortSet& ports,
                            const Source& source, const std::vector<Rank>& wanting) {
  std::vector<Rank> to;
  std::set_difference(wanting.begin(), wanting.end(), source.holders.begin(), source.holders.end(),
                      std::back_inserter(to));
  std::int64_t copies = 0;
  for (std::size_t first = 0; first < to.size();) {
    const std::int64_t host = problem.host_of(to[first]);
    std::size_t last = first;
    while (last < to.size() && problem.host_of(to[last]) == host)
      ++last;
    copies += copies_through(ports, source, host, std::span(to).subspan(first, last - first));
    first = last;
  }
  return copies;
}

std::int64_t elements_of_group(const TransferProblem& problem, const TensorGroup& group,
                               const PortSet& ports) {
  const auto targets = ranks_by_box(problem, group, group.target);
  std::int64_t elements = 0;
  for (auto& [box, holders] : ranks_by_box(problem, group, group.source)) {
    Source source{holders, {}, {}};
    note_ways(problem, ports, source);
    // Without hosts, one sender outside the set can serve all ranks.
    const bool serves_all = !problem.hosts() && !source.sending_hosts.empty();
    if (serves_all && !ports.has_any(TransferPort::Kind::kReceive)) continue;
    for (const auto& [wanted, wanting] : targets) {
      const std::int64_t common = common_elements(box, wanted);
      if (common > 0) elements += common * copies_through(problem, ports, source, wanting);
    }
  }
  return elements;
}

}  // namespace

std::int64_t passing_bytes(const TransferProblem& problem, const std::vector<TransferPort>& ports) {
  const PortSet set(ports);
  std::int64_t bytes = 0;
  for (const TensorGroup& group : problem.groups()) {
    bytes += elements_of_group(problem, group, set) * group.item_bytes *
             static_cast<std::int64_t>(group.tensors.size());
  }
  return bytes;
}

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
