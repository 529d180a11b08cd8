#include "search/redistribution/transfer/senders/choice_graphs.h"

#include <algorithm>
#include <map>

#include "core/redistribution/transfer/port_loads.h"

namespace shardwright::redistribution {
namespace {

using Kind = TransferPort::Kind;

// Adds demands and arcs, and numbers ports as they come.
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
  // Ends the arcs of a demand. Without arcs there is none.
  void add_demand(std::size_t need, std::size_t shared, std::int64_t bytes) {
    if (choice_.graph.arc_port.size() == choice_.graph.first_arc.back()) return;
    choice_.needs.push_back(need);
    choice_.shared.push_back(shared);
    choice_.graph.demands.push_back(bytes);
    choice_.graph.first_arc.push_back(choice_.graph.arc_port.size());
  }
  ChoiceGraph take() {
    choice_.graph.num_ports = choice_.ports.size();
    return std::move(choice_);
  }

 private:
  const TransferProblem& problem_;
  ChoiceGraph choice_;
  std::map<TransferPort, std::uint32_t> numbers_;
};

// The number that the caller knows, instead of the place in a list.
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

// The largest sum, and whose it is.
TransferBound largest(const TransferProblem& problem, const Demands& demands, Kind kind,
                      const std::vector<std::int64_t>& sums) {
  const auto most = std::max_element(sums.begin(), sums.end());
  if (most == sums.end() || *most == 0) return {};
  return {{public_port(problem, demands, {kind, most - sums.begin()})}, *most};
}

}  // namespace

ChoiceGraph graph_within_hosts(const TransferProblem& problem, const Demands& demands, Within mode,
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
    builder.add_demand(i, ChoiceGraph::kFirst, passing == Passing::kYes ? need.single : need.bytes);
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

ChoiceGraph graph_between_hosts(const TransferProblem& problem, const Demands& demands,
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
    builder.add_demand(i, ChoiceGraph::kFirst, outside[i]);
  }
  return builder.take();
}

TransferBound bound_of(const TransferProblem& problem, const Demands& demands,
                       const ChoiceGraph& choice, const std::vector<std::uint32_t>& ports) {
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

}  // namespace shardwright::redistribution
