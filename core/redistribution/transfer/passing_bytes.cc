#include "core/redistribution/transfer/passing_bytes.h"

#include <algorithm>
#include <map>
#include <set>

namespace shardwright::redistribution {
namespace {

// Ports by kind.
class PortSet {
 public:
  explicit PortSet(const std::vector<TransferPort>& ports) {
    for (const TransferPort& port : ports)
      numbers_[static_cast<std::size_t>(port.kind)].insert(port.number);
  }

  bool has(TransferPort::Kind kind, std::int64_t number) const {
    return of(kind).count(number) > 0;
  }
  bool has_only_receivers() const {
    return of(TransferPort::Kind::kSend).empty() && of(TransferPort::Kind::kHostOut).empty() &&
           of(TransferPort::Kind::kHostIn).empty();
  }

 private:
  const std::set<std::int64_t>& of(TransferPort::Kind kind) const {
    return numbers_[static_cast<std::size_t>(kind)];
  }

  std::set<std::int64_t> numbers_[4];
};

// The ranks that hold a box, and the ways that the ports leave open.
struct Source {
  std::vector<Rank> holders;                 // ascending
  std::vector<std::int64_t> sending_hosts;   // ascending; those with a holder whose kSend is open
  std::vector<std::int64_t> outgoing_hosts;  // ascending; those with holders whose kHostOut is open
};

void note_ways(const TransferProblem& problem, const PortSet& ports, Source& source) {
  std::sort(source.holders.begin(), source.holders.end());
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

bool must_pass(const TransferProblem& problem, const PortSet& ports, const Source& source,
               Rank to) {
  if (ports.has(TransferPort::Kind::kReceive, to)) return true;
  const std::int64_t host = problem.host_of(to);
  const auto& sending = source.sending_hosts;
  if (std::binary_search(sending.begin(), sending.end(), host)) return false;
  if (ports.has(TransferPort::Kind::kHostIn, host)) return true;
  const auto& outgoing = source.outgoing_hosts;
  return outgoing.empty() || (outgoing.size() == 1 && outgoing.front() == host);
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

std::map<Box, Source> sources_of(const TransferProblem& problem, const TensorGroup& group,
                                 const PortSet& ports) {
  std::map<Box, Source> sources;
  const std::vector<Rank>& ranks = problem.meshes()[group.source.mesh].ranks;
  for (std::size_t device = 0; device < ranks.size(); ++device)
    sources[problem.box(group.shape, group.source, device)].holders.push_back(ranks[device]);
  for (auto& [box, source] : sources)
    note_ways(problem, ports, source);
  // Without hosts, an open sender serves everybody.
  if (!problem.hosts() && !ports.has_only_receivers()) {
    for (auto entry = sources.begin(); entry != sources.end();)
      entry = entry->second.sending_hosts.empty() ? std::next(entry) : sources.erase(entry);
  }
  return sources;
}

std::int64_t elements_of_group(const TransferProblem& problem, const TensorGroup& group,
                               const PortSet& ports) {
  const std::map<Box, Source> sources = sources_of(problem, group, ports);
  const std::vector<Rank>& ranks = problem.meshes()[group.target.mesh].ranks;
  std::int64_t elements = 0;
  for (std::size_t device = 0; device < ranks.size(); ++device) {
    const Rank to = ranks[device];
    if (ports.has_only_receivers() && !ports.has(TransferPort::Kind::kReceive, to)) continue;
    const Box wanted = problem.box(group.shape, group.target, device);
    for (const auto& [box, source] : sources) {
      const std::int64_t common = common_elements(box, wanted);
      if (common == 0) continue;
      const bool holds = std::binary_search(source.holders.begin(), source.holders.end(), to);
      if (!holds && must_pass(problem, ports, source, to)) elements += common;
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

}  // namespace shardwright::redistribution
