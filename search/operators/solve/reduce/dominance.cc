#include "search/operators/solve/reduce/dominance.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace shardwright::operators {
namespace {

void find_cheapest_partners(std::span<const EdgeSide> sides, std::uint32_t s,
                            std::vector<std::uint32_t>& cheapest) {
  cheapest.assign(sides.size(), 0);
  for (std::size_t e = 0; e < sides.size(); ++e) {
    for (std::uint32_t k = 1; k < sides[e].other_size; ++k) {
      if (sides[e].at(s, k) < sides[e].at(s, cheapest[e])) cheapest[e] = k;
    }
  }
}

// `cheapest`: by edge, the partner that is cheapest for s.
bool dominates(const ReductionGraph::Node& n, std::span<const EdgeSide> sides,
               std::span<const std::uint32_t> cheapest, std::uint32_t t, std::uint32_t s) {
  // The loss next to the cheapest partners of s is a lower bound; most pairs end here.
  double loss = n.costs[t] - n.costs[s];
  for (std::size_t e = 0; e < sides.size(); ++e)
    loss += sides[e].at(t, cheapest[e]) - sides[e].at(s, cheapest[e]);
  if (loss > 0) return false;
  for (const Segment& segment : n.segments) {
    if (segment.bytes[t] > segment.bytes[s]) return false;
  }
  loss = n.costs[t] - n.costs[s];
  for (const EdgeSide& side : sides) {
    double most = -kForbidden;
    for (std::uint32_t k = 0; k < side.other_size; ++k) {
      const double cost = side.at(s, k);
      if (cost < kForbidden) most = std::max(most, side.at(t, k) - cost);
    }
    loss += most;
    if (loss == kForbidden) return false;
  }
  return loss <= 0;
}

}  // namespace

bool Dominance::remove_dominated(ReductionGraph& graph, std::uint32_t node) {
  graph.normalize(node);
  const ReductionGraph::Node& n = graph.nodes[node];
  sides_.clear();
  for (const std::uint32_t edge : n.edges)
    sides_.push_back(graph.side(edge, node));
  kept_.assign(n.size(), 1);
  bool any = false;
  for (std::uint32_t s = 0; s < n.size(); ++s) {
    find_cheapest_partners(sides_, s, cheapest_);
    for (std::uint32_t t = 0; t < n.size() && kept_[s] != 0; ++t) {
      if (t == s || kept_[t] == 0 || !dominates(n, sides_, cheapest_, t, s)) continue;
      kept_[s] = 0;
      any = true;
    }
  }
  if (any) graph.keep(node, kept_);
  return any;
}

}  // namespace shardwright::operators
