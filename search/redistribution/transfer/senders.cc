#include "search/redistribution/transfer/senders.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/redistribution/transfer/port_loads.h"
#include "search/redistribution/transfer/balance.h"

namespace shardwright::redistribution {
namespace {

using Kind = TransferPort::Kind;

// Limit of passing_pairs(). Above it ranks pass nothing on: the plan would be too large.
constexpr std::size_t kMostPassingPairs = std::size_t{1} << 20;

// The bytes of each need that its own host sends, and the bytes that each other host sends.
struct HostShares {
  std::vector<std::vector<SenderShare>> within;  // by need: of holders on its host
  std::vector<std::vector<SenderShare>> passed;  // as SenderChoice::passed
  std::vector<std::vector<HostShare>> between;   // by need
  double within_time = 0;                        // of the busiest rank within a host
  double between_time = 0;                       // of the busiest link
};

class SenderChooser {
 public:
  SenderChooser(const TransferProblem& problem, const Demands& demands, const Budget& budget,
                std::uint64_t& work)
      : problem_(problem), demands_(demands), budget_(budget), work_(work) {}

  std::optional<SenderChoice> run() {
    auto chosen = choose_hosts(Within::kAll, Passing::kYes);
    if (!chosen) return std::nullopt;
    const TransferBound receivers = busiest_receiver(problem_, demands_);
    receiving_time_ = proved(problem_, receivers);
    add_bound(receivers);
    const double others = std::max(receiving_time_, chosen->between_time);
    const bool is_within_busiest = chosen->within_time > others;
    if (const std::size_t pairs = passing_pairs(); pairs > 0) {
      auto direct = choose_hosts(Within::kAll, Passing::kNo);
      if (!direct) return std::nullopt;
      if (pairs > kMostPassingPairs || time_of(*direct) <= time_of(*chosen) * kAlike)
        chosen = std::move(direct);
    }
    if (demands_.num_hosts > 1 && is_within_busiest) {
      auto evened = choose_hosts(Within::kEven, Passing::kYes);
      if (!evened) return std::nullopt;
      if (passing_pairs() <= kMostPassingPairs && time_of(*evened) < time_of(*chosen))
        chosen = std::move(evened);
    }
    if (!add_ranks_of_hosts(*chosen)) return std::nullopt;
    return SenderChoice{std::move(chosen->within), std::move(chosen->passed), std::move(bounds_)};
  }

 private:
  static constexpr double kAlike = 1 + 1e-12;  // allows for rounding of sums

  double time_of(const HostShares& shares) const {
    return std::max({receiving_time_, shares.within_time, shares.between_time});
  }

  // The number of pairs of receivers between which elements may be passed on.
  std::size_t passing_pairs() const {
    std::size_t pairs = 0;
    for (const SharedNeed& shared : demands_.shared) {
      const std::size_t ranks = demands_.sets[shared.receivers].size();
      pairs += ranks * (ranks - 1);
    }
    return pairs;
  }

  // Chooses the shares of ranks and hosts. Adds bounds only with kYes, since bounds without passing
  // on do not hold for all plans.
  std::optional<HostShares> choose_hosts(Within mode, Passing passing) {
    HostShares shares;
    shares.within.resize(demands_.needs.size());
    shares.passed.resize(passing == Passing::kYes ? demands_.shared.size() : 0);
    shares.between.resize(demands_.needs.size());
    const SenderGraph within = graph_within_hosts(problem_, demands_, mode, passing);
    const auto inside = balance(within.graph, within.weights, budget_, work_);
    if (!inside) return std::nullopt;
    const std::vector<std::int64_t> outside = add_within(within, *inside, shares);
    const SenderGraph between = graph_between_hosts(problem_, demands_, outside);
    const auto links = balance(between.graph, between.weights, budget_, work_);
    if (!links) return std::nullopt;
    for_each_amount(between, *links, [&](std::size_t d, TransferPort port, std::int64_t bytes) {
      shares.between[between.needs[d]].push_back({static_cast<std::uint32_t>(port.number), bytes});
    });
    const TransferBound incoming = busiest_host_in(problem_, demands_, outside);
    shares.within_time = inside->level;
    shares.between_time = std::max(links->level, proved(problem_, incoming));
    if (passing == Passing::kNo) return shares;
    if (mode == Within::kAll) add_bound(incoming);
    if (mode == Within::kAll) add_bound(bound_of(between, *links));
    // This bound holds only if the ports include those of other hosts, or there are none.
    if (mode == Within::kEven || demands_.num_hosts == 1) add_bound(bound_of(within, *inside));
    return shares;
  }

  // Adds the shares of ranks on each need's host. Returns the bytes left for other hosts, by need.
  std::vector<std::int64_t> add_within(const SenderGraph& within, const Balance& inside,
                                       HostShares& shares) const {
    std::vector<std::int64_t> outside;
    for (const Need& need : demands_.needs)
      outside.push_back(need.bytes);
    std::size_t last = SenderGraph::kFirst;
    std::int64_t rest = 0;  // bytes left over by the division by the number of others
    for_each_amount(within, inside, [&](std::size_t d, TransferPort port, std::int64_t bytes) {
      if (port.kind != Kind::kSend) return;
      const std::size_t need = within.needs[d];
      const auto from = static_cast<std::uint32_t>(port.number);
      const std::vector<std::uint32_t>& holders = demands_.sets[demands_.needs[need].holders];
      outside[need] -= bytes;
      if (std::binary_search(holders.begin(), holders.end(), from)) {
        add_share(from, bytes, shares.within[need]);
      } else {
        const SharedNeed& shared = demands_.shared[within.shared[d]];
        const auto others = static_cast<std::int64_t>(demands_.sets[shared.receivers].size()) - 1;
        rest = bytes + (within.shared[d] == last ? rest : 0);
        last = within.shared[d];
        shares.passed[last].push_back({from, rest / others});
        rest %= others;
      }
    });
    return outside;
  }

  static void add_share(std::uint32_t from, std::int64_t bytes, std::vector<SenderShare>& shares) {
    for (SenderShare& share : shares) {
      if (share.from != from) continue;
      share.bytes += bytes;
      return;
    }
    shares.push_back({from, bytes});
  }

  TransferBound bound_of(const SenderGraph& choice, const Balance& balance) const {
    return redistribution::bound_of(problem_, demands_, choice, balance.busiest_ports);
  }
  void add_bound(TransferBound bound) {
    if (bound.bytes > 0) bounds_.push_back(std::move(bound));
  }

  // Divides the bytes that each host sends to others among its ranks. Returns false if interrupted.
  bool add_ranks_of_hosts(HostShares& shares) {
    const HostSenders senders(demands_, shares.between);
    const std::vector<double> equal(senders.graph().num_ports, 1);
    const auto ranks = balance(senders.graph(), equal, budget_, work_);
    if (!ranks) return false;
    senders.assign(*ranks, shares.within);
    return true;
  }

  const TransferProblem& problem_;
  const Demands& demands_;
  const Budget& budget_;
  std::uint64_t& work_;
  std::vector<TransferBound> bounds_;
  double receiving_time_ = 0;  // of the rank that receives most
};

}  // namespace

std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work) {
  return SenderChooser(problem, demands, budget, work).run();
}

namespace {

using Kind = TransferPort::Kind;

// Builds a SenderGraph from demands and arcs, and numbers ports in order of appearance.
class GraphBuilder {
 public:
  explicit GraphBuilder(const TransferProblem& problem) : problem_(problem) {
    choice_.graph.first_arc.push_back(0);
  }

  void add_arc(Kind kind, std::uint32_t number) {
    const TransferPort port{kind, number};
    const auto [entry, is_new] =
        numbers_.try_emplace(port, static_cast<std::uint32_t>(choice_.ports.size()));
    if (is_new) {
      choice_.ports.push_back(port);
      choice_.weights.push_back(bandwidth(problem_, kind));
    }
    choice_.graph.arc_port.push_back(entry->second);
  }
  // Makes a demand of the arcs added since the last call. Without arcs there is no demand.
  void add_demand(std::size_t need, std::size_t shared, std::int64_t bytes) {
    if (choice_.graph.arc_port.size() == choice_.graph.first_arc.back()) return;
    choice_.needs.push_back(need);
    choice_.shared.push_back(shared);
    choice_.graph.demands.push_back(bytes);
    choice_.graph.first_arc.push_back(choice_.graph.arc_port.size());
  }
  SenderGraph take() {
    choice_.graph.num_ports = choice_.ports.size();
    return std::move(choice_);
  }

 private:
  const TransferProblem& problem_;
  SenderGraph choice_;
  std::map<TransferPort, std::uint32_t> numbers_;
};

// Returns the port with the caller's number of the rank or host instead of the index.
TransferPort public_port(const TransferProblem& problem, const Demands& demands,
                         TransferPort port) {
  if (port.kind == Kind::kSend || port.kind == Kind::kReceive) {
    port.number = problem.ranks()[static_cast<std::size_t>(port.number)];
    return port;
  }
  const auto& host_of = demands.host_of;
  const auto first = std::lower_bound(host_of.begin(), host_of.end(), port.number);
  port.number = problem.host_of(problem.ranks()[static_cast<std::size_t>(first - host_of.begin())]);
  return port;
}

// Returns the port with the largest sum, and this sum; no ports if all sums are 0.
TransferBound largest(const TransferProblem& problem, const Demands& demands, Kind kind,
                      const std::vector<std::int64_t>& sums) {
  const auto most = std::max_element(sums.begin(), sums.end());
  if (most == sums.end() || *most == 0) return {};
  return {{public_port(problem, demands, {kind, most - sums.begin()})}, *most};
}

}  // namespace

SenderGraph graph_within_hosts(const TransferProblem& problem, const Demands& demands, Within mode,
                               Passing passing) {
  GraphBuilder builder(problem);
  for (std::size_t i = 0; i < demands.needs.size(); ++i) {
    const Need& need = demands.needs[i];
    const auto add_holders = [&] {
      bool far = false;
      for (const std::uint32_t holder : demands.sets[need.holders]) {
        const bool near = demands.host_of[holder] == need.host;
        if (near) builder.add_arc(Kind::kSend, holder);
        far = far || !near;
      }
      if (mode == Within::kEven && far) builder.add_arc(Kind::kHostIn, need.host);
    };
    add_holders();
    builder.add_demand(i, SenderGraph::kFirst, passing == Passing::kYes ? need.single : need.bytes);
    for (std::size_t s = need.first; passing == Passing::kYes && s < need.last; ++s) {
      const SharedNeed& shared = demands.shared[s];
      const std::vector<std::uint32_t>& receivers = demands.sets[shared.receivers];
      if (receivers.size() == 1) continue;
      add_holders();
      for (const std::uint32_t receiver : receivers)
        builder.add_arc(Kind::kSend, receiver);
      builder.add_demand(i, s, shared.bytes * static_cast<std::int64_t>(receivers.size() - 1));
    }
  }
  return builder.take();
}

SenderGraph graph_between_hosts(const TransferProblem& problem, const Demands& demands,
                                const std::vector<std::int64_t>& outside) {
  GraphBuilder builder(problem);
  for (std::size_t i = 0; i < demands.needs.size(); ++i) {
    if (outside[i] == 0) continue;
    const Need& need = demands.needs[i];
    std::uint32_t last = demands.num_hosts;
    for (const std::uint32_t holder : demands.sets[need.holders]) {
      const std::uint32_t host = demands.host_of[holder];
      if (host != need.host && host != last) builder.add_arc(Kind::kHostOut, host);
      last = host;
    }
    builder.add_demand(i, SenderGraph::kFirst, outside[i]);
  }
  return builder.take();
}

TransferBound bound_of(const TransferProblem& problem, const Demands& demands,
                       const SenderGraph& choice, const std::vector<std::uint32_t>& ports) {
  std::vector<bool> chosen(choice.ports.size(), false);
  TransferBound bound;
  for (const std::uint32_t port : ports) {
    chosen[port] = true;
    bound.ports.push_back(public_port(problem, demands, choice.ports[port]));
  }
  std::sort(bound.ports.begin(), bound.ports.end());
  const BipartiteGraph& graph = choice.graph;
  for (std::size_t d = 0; d < graph.demands.size(); ++d) {
    bool other = false;
    for (std::size_t arc = graph.first_arc[d]; arc < graph.first_arc[d + 1]; ++arc)
      other = other || !chosen[graph.arc_port[arc]];
    if (!other) bound.bytes += graph.demands[d];
  }
  return bound;
}

TransferBound busiest_receiver(const TransferProblem& problem, const Demands& demands) {
  std::vector<std::int64_t> received(problem.ranks().size(), 0);
  for (const SharedNeed& shared : demands.shared) {
    for (const std::uint32_t to : demands.sets[shared.receivers])
      received[to] += shared.bytes;
  }
  return largest(problem, demands, Kind::kReceive, received);
}

TransferBound busiest_host_in(const TransferProblem& problem, const Demands& demands,
                              const std::vector<std::int64_t>& outside) {
  std::vector<std::int64_t> in(demands.num_hosts, 0);
  for (std::size_t i = 0; i < demands.needs.size(); ++i)
    in[demands.needs[i].host] += outside[i];
  return largest(problem, demands, Kind::kHostIn, in);
}

HostSenders::HostSenders(const Demands& demands,
                         const std::vector<std::vector<HostShare>>& between) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Stretch>> by_host;
  for (std::size_t i = 0; i < between.size(); ++i) {
    for (const HostShare& share : between[i])
      by_host[{demands.needs[i].holders, share.host}].push_back({i, share.bytes});
  }
  graph_.num_ports = demands.host_of.size();
  graph_.first_arc.push_back(0);
  for (auto& [key, stretches] : by_host) {
    std::int64_t bytes = 0;
    for (const Stretch& stretch : stretches)
      bytes += stretch.bytes;
    for (const std::uint32_t holder : demands.sets[key.first]) {
      if (demands.host_of[holder] == key.second) graph_.arc_port.push_back(holder);
    }
    graph_.demands.push_back(bytes);
    graph_.first_arc.push_back(graph_.arc_port.size());
    stretches_.push_back(std::move(stretches));
  }
}

void HostSenders::assign(const Balance& balance,
                         std::vector<std::vector<SenderShare>>& shares) const {
  for (std::size_t d = 0; d < stretches_.size(); ++d) {
    std::size_t arc = graph_.first_arc[d];
    std::int64_t left = balance.amount[arc];
    for (const Stretch& stretch : stretches_[d]) {
      for (std::int64_t open = stretch.bytes; open > 0;) {
        while (left == 0)
          left = balance.amount[++arc];
        const std::int64_t taken = std::min(open, left);
        shares[stretch.need].push_back({graph_.arc_port[arc], taken});
        open -= taken;
        left -= taken;
      }
    }
  }
}

}  // namespace shardwright::redistribution
