#include "search/operators/build/cost_graph.h"

#include <numeric>
#include <string>
#include <utility>

#include "search/operators/reshard/reshard_path.h"
#include "search/operators/reshard/reshard_planner.h"
#include "search/operators/strategies/generate.h"

namespace shardwright::operators {
namespace {

Status check_strategies(const OpGraph& graph, std::span<const NodeStrategies> strategies) {
  for (std::size_t n = 0; n < strategies.size(); ++n) {
    if (!strategies[n].empty()) continue;
    return Error{ErrorCode::kInfeasible,
                 "no allowed strategy shards \"" + graph[n].name + "\" evenly over the mesh",
                 "/nodes/" + std::to_string(n)};
  }
  return {};
}

MergedGraph merge(const OpGraph& graph, CostGraph& costs) {
  std::vector<std::uint32_t> num_strategies;
  std::vector<bool> may_merge;
  num_strategies.reserve(graph.size());
  may_merge.reserve(graph.size());
  for (std::size_t n = 0; n < graph.size(); ++n) {
    num_strategies.push_back(static_cast<std::uint32_t>(costs.strategies[n].size()));
    may_merge.push_back(mergeable(graph[n]));
  }
  return merge_nodes(num_strategies, may_merge, costs.edges, costs.matrices);
}

// Modules of one type count as equal whatever their sizes, so nodes of equal blocks may differ in
// their strategies. Such nodes share nothing.
std::vector<NodeAlias> find_aliases(const OpGraph& graph, const CostGraph& costs) {
  std::vector<NodeAlias> aliases = block_aliases(find_repeated_blocks(node_classes(graph)));
  std::erase_if(aliases, [&](const NodeAlias& alias) {
    return costs.merged.follows[alias.node] == MergedGraph::kNone &&
           costs.strategies[alias.node].size() != costs.strategies[alias.of].size();
  });
  return aliases;
}

std::vector<std::uint32_t> leaders(const CostGraph& costs, bool merged) {
  std::vector<std::uint32_t> leaders(costs.strategies.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  if (!merged) return leaders;
  for (const NodeAlias& alias : costs.aliases)
    leaders[alias.node] = alias.of;
  for (std::size_t n = 0; n < leaders.size(); ++n) {
    if (costs.merged.follows[n] != MergedGraph::kNone) leaders[n] = costs.merged.follows[n];
  }
  return leaders;
}

void add_node(const OpNode& node, const NodeStrategies& strategies, std::span<const double> extra,
              CostInstanceSpec& spec) {
  CostInstanceSpec::Usage usage{static_cast<std::uint32_t>(spec.nodes.size()), {0, 1}, {}};
  CostInstanceSpec::Node described{node.name, {}};
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    double cost = strategies[s].compute.total + strategies[s].comm.total;
    if (!extra.empty()) cost += extra[s];
    described.costs.push_back(cost);
    usage.bytes.push_back(strategies[s].budget_bytes());
  }
  spec.nodes.push_back(std::move(described));
  spec.usages.push_back(std::move(usage));
}

}  // namespace

Result<CostGraph> build_cost_graph(const OpGraph& graph, std::shared_ptr<const DeviceMesh> mesh,
                                   Executor& executor) {
  CostGraph costs;
  costs.table = std::make_shared<SpecTable>(std::move(mesh));
  ReshardPlanner planner(*costs.table, PathCost::kCompat);
  SHARDWRIGHT_ASSIGN_OR_RETURN(costs.strategies,
                               generate_strategies(graph, *costs.table, planner, executor));
  SHARDWRIGHT_RETURN_IF_ERROR(check_strategies(graph, costs.strategies));
  EdgeCosts edge_costs =
      compute_edge_costs(graph, costs.strategies, planner, executor, costs.matrices);
  costs.edges = std::move(edge_costs.edges);
  costs.merged = merge(graph, costs);
  costs.aliases = find_aliases(graph, costs);

  CostGraphCounters& counters = costs.counters;
  for (const NodeStrategies& strategies : costs.strategies)
    counters.strategies += strategies.size();
  for (const CostEdge& edge : costs.edges)
    counters.matrix_entries += costs.matrix(edge).entries.size();
  counters.dim_specs = std::size_t{1} << costs.table->mesh().num_axes();
  counters.shapes = costs.table->num_shapes();
  counters.specs = costs.table->num_specs();
  counters.path_searches = planner.num_searches();
  counters.path_questions = edge_costs.num_questions;
  counters.matrices_computed = edge_costs.num_computed;
  counters.matrices = costs.matrices.size();
  return costs;
}

Result<OperatorProblem> lower(const OpGraph& graph, const CostGraph& costs,
                              const CostGraphForm& form) {
  CostInstanceSpec spec;
  if (form.budget) spec.limits.push_back(*form.budget);
  std::vector<std::vector<std::string>> names;
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const std::span<const double> extra =
        form.merged ? std::span<const double>(costs.merged.extra[n]) : std::span<const double>();
    add_node(graph[n], costs.strategies[n], extra, spec);
    std::vector<std::string>& node_names = names.emplace_back();
    for (std::size_t s = 0; s < costs.strategies[n].size(); ++s)
      node_names.push_back(costs.strategies[n].name(s));
  }
  spec.edges = form.merged ? costs.merged.edges : costs.edges;
  spec.matrices = costs.matrices.matrices();
  SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      LoweredInstance lowered,
      LoweredInstance::make(std::move(instance), std::move(spec), leaders(costs, form.merged)));
  OperatorProblem problem(std::move(lowered));
  problem.strategy_names = std::move(names);
  return problem;
}

}  // namespace shardwright::operators
