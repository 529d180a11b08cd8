#include "search/operators/solve/reduce/reduce.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "search/operators/solve/reduce/dominance.h"
#include "search/operators/solve/reduce/reduce_memory.h"
#include "search/operators/solve/reduce/reduction_graph.h"

namespace shardwright::operators {
namespace {

using Side = ReductionGraph::Side;
using Node = ReductionGraph::Node;

// One call of reduce().
// Thread safety: one thread at a time.
class Reducer {
 public:
  Reducer(const CostInstance& instance, const Budget& budget, std::span<const char> kept,
          const ReduceParameters& parameters)
      : graph_(instance), budget_(&budget), parameters_(parameters) {
    for (std::uint32_t node = 0; !kept.empty() && node < graph_.nodes.size(); ++node) {
      const auto own = kept.first(graph_.nodes[node].size());
      kept = kept.subspan(own.size());
      if (std::find(own.begin(), own.end(), char{0}) != own.end()) graph_.keep(node, own);
    }
  }

  ReductionGraph run() {
    // The cheap rules run to their end before each round of the expensive ones.
    for (bool changed = true; changed && !stopped();) {
      settle();
      if (stopped()) break;
      const std::size_t eliminated = graph_.eliminations.size();
      reduce_memory(graph_);
      settle();
      changed = graph_.eliminations.size() > eliminated;
      changed = remove_dominated() || changed;
    }
    // Nodes that were fixed last may hold more than their limits.
    graph_.infeasible =
        graph_.infeasible || std::any_of(graph_.limits.begin(), graph_.limits.end(),
                                         [](std::int64_t limit) { return limit < 0; });
    return std::move(graph_);
  }

 private:
  bool stopped() const { return graph_.infeasible || budget_->interrupted(); }

  void settle() {
    std::uint32_t node = 0;
    while (!stopped() && graph_.next(node))
      look_at(node);
  }

  void look_at(std::uint32_t node) {
    if (remove_without_partner(node)) return;
    if (graph_.nodes[node].size() == 1) return graph_.fix(node);
    if (split_separable_edges(node)) return;
    if (merge_functional(node)) return;
    eliminate(node);
  }

  // Removes strategies that are forbidden or have no allowed partner across some edge.
  bool remove_without_partner(std::uint32_t node) {
    const Node& n = graph_.nodes[node];
    kept_.assign(n.size(), 1);
    bool all = true;
    for (std::uint32_t s = 0; s < n.size(); ++s)
      kept_[s] = n.costs[s] < kForbidden ? 1 : 0;
    for (const std::uint32_t edge : n.edges) {
      const Side side = graph_.side(edge, node);
      for (std::uint32_t s = 0; s < n.size(); ++s) {
        if (kept_[s] == 0) continue;
        std::uint32_t k = 0;
        while (k < side.other_size && !(side.at(s, k) < kForbidden))
          ++k;
        if (k == side.other_size) kept_[s] = 0;
      }
    }
    for (const char kept : kept_)
      all = all && kept != 0;
    if (!all) graph_.keep(node, kept_);
    return !all;
  }

  // An edge whose every entry is a term of the row plus a term of the column couples nothing: its
  // terms go to the nodes.
  bool split_separable_edges(std::uint32_t node) {
    for (const std::uint32_t edge : graph_.nodes[node].edges) {
      const Side side = graph_.side(edge, node);
      if (!is_separable(side, graph_.nodes[node].size())) continue;
      Node& n = graph_.nodes[node];
      Node& other = graph_.nodes[side.other];
      const double corner = side.at(0, 0);
      for (std::uint32_t s = 0; s < n.size(); ++s)
        n.costs[s] += side.at(s, 0);
      for (std::uint32_t k = 0; k < other.size(); ++k)
        other.costs[k] += side.at(0, k) - corner;
      make_non_negative(other);
      graph_.remove_edge(edge);
      return true;
    }
    return false;
  }

  void make_non_negative(Node& node) {
    const double least = *std::min_element(node.costs.begin(), node.costs.end());
    if (least >= 0) return;
    for (double& cost : node.costs)
      cost -= least;
    graph_.constant += least;
  }

  static bool is_separable(const Side& side, std::uint32_t size) {
    const double corner = side.at(0, 0);
    for (std::uint32_t s = 0; s < size; ++s) {
      for (std::uint32_t k = 0; k < side.other_size; ++k) {
        const double cost = side.at(s, k);
        if (!(cost < kForbidden)) return false;
        if (cost - side.at(s, 0) != side.at(0, k) - corner) return false;
      }
    }
    return true;
  }

  // Merges a neighbour whose strategy is a function of this node's into this node, or the other way
  // round, unless matrices would become much larger.
  bool merge_functional(std::uint32_t node) {
    for (const std::uint32_t edge : graph_.nodes[node].edges) {
      const std::uint32_t other = graph_.side(edge, node).other;
      if (try_merge(edge, other, node) || try_merge(edge, node, other)) return true;
    }
    return false;
  }

  bool try_merge(std::uint32_t edge, std::uint32_t node, std::uint32_t into) {
    const Side side = graph_.side(edge, into);
    const std::uint32_t size = graph_.nodes[into].size();
    partner_.assign(size, 0);
    for (std::uint32_t s = 0; s < size; ++s) {
      std::uint32_t partners = 0;
      for (std::uint32_t k = 0; k < side.other_size && partners < 2; ++k) {
        if (!(side.at(s, k) < kForbidden)) continue;
        partner_[s] = k;
        ++partners;
      }
      if (partners != 1) return false;
    }
    std::size_t entries = 0;
    for (const std::uint32_t e : graph_.nodes[node].edges) {
      entries += std::size_t{size} * graph_.side(e, node).other_size;
    }
    if (size > graph_.nodes[node].size() && entries > parameters_.most_merged_entries) return false;
    graph_.merge(node, into, partner_);
    return true;
  }

  void eliminate(std::uint32_t node) {
    const Node& n = graph_.nodes[node];
    if (!n.segments.empty() || n.edges.size() > 2) return;
    if (n.edges.size() == 2) {
      // The new edge between the neighbours must not take more work than the two that it replaces.
      const std::size_t a = graph_.side(n.edges[0], node).other_size;
      const std::size_t b = graph_.side(n.edges[1], node).other_size;
      const std::size_t replaced = n.size() * (a + b);
      if (a * b > parameters_.most_fill && a * b > parameters_.fill_growth * replaced) return;
    }
    graph_.eliminate(node);
  }

  bool remove_dominated() {
    bool changed = false;
    for (std::uint32_t node = 0; node < graph_.nodes.size() && !stopped(); ++node) {
      if (graph_.nodes[node].alive && graph_.nodes[node].size() > 1) {
        changed = dominance_.remove_dominated(graph_, node) || changed;
      }
    }
    return changed;
  }

  ReductionGraph graph_;
  const Budget* budget_;
  const ReduceParameters& parameters_;
  std::vector<char> kept_;
  std::vector<std::uint32_t> partner_;
  Dominance dominance_;
};

// Makes an instance of what is left.
void extract_core(ReductionGraph& graph, Reduction& reduction) {
  CostInstanceSpec spec;
  std::vector<std::uint32_t> core_of(graph.nodes.size(), Reduction::Elimination::kNone);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    if (!node.alive) continue;
    core_of[i] = static_cast<std::uint32_t>(reduction.core_nodes.size());
    for (Segment& segment : node.segments) {
      spec.usages.push_back({core_of[i], segment.live, std::move(segment.bytes)});
    }
    spec.nodes.push_back({"", std::move(node.costs)});
    reduction.core_nodes.push_back(i);
    reduction.origins.push_back(std::move(node.origins));
  }
  for (ReductionGraph::Edge& edge : graph.edges) {
    if (!edge.alive) continue;
    const auto rows = static_cast<std::uint32_t>(spec.nodes[core_of[edge.first]].costs.size());
    const auto columns = static_cast<std::uint32_t>(spec.nodes[core_of[edge.second]].costs.size());
    spec.edges.push_back({core_of[edge.first], core_of[edge.second],
                          static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back({rows, columns, std::move(edge.costs)});
  }
  spec.limits = graph.limits;
  reduction.times = graph.times;
  auto core = CostInstance::make(std::move(spec));
  SHARDWRIGHT_CHECK(core.ok());
  reduction.core = std::make_unique<const CostInstance>(std::move(core).value());
}

}  // namespace

Reduction reduce(const CostInstance& instance, const Budget& budget, std::span<const char> kept,
                 const ReduceParameters& parameters) {
  ReductionGraph graph = Reducer(instance, budget, kept, parameters).run();
  Reduction reduction;
  reduction.num_original_nodes = instance.num_nodes();
  reduction.infeasible = graph.infeasible;
  reduction.constant = graph.constant;
  reduction.eliminations = std::move(graph.eliminations);
  if (!reduction.infeasible) extract_core(graph, reduction);
  return reduction;
}

std::vector<std::uint32_t> Reduction::expand(std::span<const std::uint32_t> core_choice) const {
  std::vector<std::uint32_t> choice(num_original_nodes, 0);
  for (std::size_t i = 0; i < core_nodes.size(); ++i) {
    choice[core_nodes[i]] = origins[i][core_choice[i]];
  }
  for (auto it = eliminations.rbegin(); it != eliminations.rend(); ++it) {
    std::size_t at = 0;
    if (it->first != Elimination::kNone) at = choice[it->first];
    if (it->second != Elimination::kNone) at = at * it->columns + choice[it->second];
    choice[it->node] = it->best[at];
  }
  return choice;
}

}  // namespace shardwright::operators
