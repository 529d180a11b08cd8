#include "search/operators/aten/aten_problem.h"

#include <algorithm>
#include <utility>

#include "search/operators/aten/aten_edges.h"
#include "search/operators/aten/aten_usages.h"
#include "search/operators/aten/shared_blocks.h"

namespace shardwright::operators {
namespace {

AtenRole role_of(AtenConstraint::Of of) {
  switch (of) {
    case AtenConstraint::Of::kParameter:
      return AtenRole::kParameter;
    case AtenConstraint::Of::kBuffer:
      return AtenRole::kBuffer;
    case AtenConstraint::Of::kTangent:
      return AtenRole::kTangent;
    default:
      return AtenRole::kInput;
  }
}

// The variable that a constraint is about, or the number of variables.
std::size_t constrained_variable(const AtenGraph& graph, const AtenVariables& variables,
                                 const AtenConstraint& constraint) {
  if (constraint.of == AtenConstraint::Of::kOutput) {
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
      const AtenOutput& output = graph.outputs()[o];
      if (output.role == AtenOutputRole::kOutput && output.target == constraint.target)
        return variables.output_variable(o);
    }
    return variables.size();
  }
  const AtenRole role = role_of(constraint.of);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].role == role && graph[n].target == constraint.target) return n;
  }
  return variables.size();
}

Status constrain(const AtenVariables& variables, const std::vector<AtenConstraint>& constraints,
                 CostInstanceSpec& spec) {
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    const std::string where = "/constraints/" + std::to_string(c);
    const AtenConstraint& constraint = constraints[c];
    const std::size_t variable =
        constrained_variable(variables.graph(), variables, constraint);
    if (variable == variables.size())
      return invalid_input(where, "the graph has no " + quoted(constraint.target));
    const StrategyClass& strategies = variables.strategies(variable);
    const std::optional<PlacementColumn>& column = variable < variables.graph().size()
                                                       ? strategies.outputs[0]
                                                       : strategies.inputs[0];
    bool any = false;
    for (std::size_t s = 0; s < strategies.size(); ++s) {
      const bool fits = column && column->of(s) == constraint.placement;
      if (!fits) spec.nodes[variable].costs[s] = kForbidden;
      any = any || fits;
    }
    if (!any) return invalid_input(where, quoted(constraint.target) + " cannot lie like that");
  }
  return {};
}

void add_nodes(const AtenVariables& variables, CostInstanceSpec& spec) {
  const AtenGraph& graph = variables.graph();
  for (std::size_t v = 0; v < variables.size(); ++v) {
    CostInstanceSpec::Node& node = spec.nodes.emplace_back();
    node.name = v < graph.size() ? graph[v].name : graph.outputs()[v - graph.size()].target;
    node.costs = variables.strategies(v).compute_us;
    if (variables.owns(variables.class_of(v))) {
      const std::vector<double> once = node.costs;
      node.costs.insert(node.costs.end(), once.begin(), once.end());
    }
  }
}

}  // namespace

Result<AtenProblem> build_problem(const AtenGraph& graph, const AtenRequest& request,
                                  TransitionCosts& transitions, Executor& executor) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      AtenVariables variables,
      AtenVariables::make(graph, request.mesh, request.device, request.memory_limit.has_value(),
                          executor));
  CostInstanceSpec spec;
  add_nodes(variables, spec);
  SHARDWRIGHT_RETURN_IF_ERROR(constrain(variables, request.constraints, spec));
  AtenEdges edges = make_edges(variables, transitions, executor);
  const std::size_t num_edges = edges.edges.size();
  spec.edges = std::move(edges.edges);
  spec.matrices = std::move(edges.matrices);
  if (request.memory_limit) {
    AtenUsages usages = make_usages(variables, request.optimizer_states);
    spec.usages = std::move(usages.usages);
    spec.limits.assign(usages.num_time_points, *request.memory_limit);
  }
  if (request.blocks == BlockSharing::kFree) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(std::move(spec)));
    return AtenProblem{std::move(variables), OperatorProblem(LoweredInstance(std::move(instance))),
                       num_edges};
  }
  const std::vector<std::uint32_t> leaders = block_leaders(variables);
  SHARDWRIGHT_ASSIGN_OR_RETURN(CostInstance instance, CostInstance::make(spec));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      LoweredInstance lowered,
      LoweredInstance::make(std::move(instance), std::move(spec), leaders));
  return AtenProblem{std::move(variables), OperatorProblem(std::move(lowered)), num_edges};
}

AtenPlan plan_of(const AtenVariables& variables, const std::vector<std::uint32_t>& choice,
                 TransitionCosts& transitions) {
  const AtenGraph& graph = variables.graph();
  AtenPlan plan;
  plan.mesh = variables.mesh();
  const auto placement = [](const std::optional<PlacementColumn>& column, std::uint32_t s) {
    return column ? MaybePlacement(column->of(s)) : std::nullopt;
  };
  const auto transition_us = [&](const TensorRef& ref, const MaybePlacement& target) {
    const MaybePlacement& source = plan.nodes[ref.node].outputs[ref.output];
    if (!source || !target || *source == *target) return 0.0;
    return transitions.microseconds(graph.tensor(ref), *source, *target);
  };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const StrategyClass& strategies = variables.strategies(n);
    const std::uint32_t s = variables.strategy(n, choice[n]);
    AtenNodePlan& node = plan.nodes.emplace_back();
    node.compute_us = strategies.compute_us[s];
    for (const auto& column : strategies.outputs)
      node.outputs.push_back(placement(column, s));
    for (std::size_t i = 0; i < graph[n].inputs.size(); ++i) {
      node.inputs.push_back(placement(strategies.inputs[i], s));
      node.redistribute_us.push_back(transition_us(graph[n].inputs[i], node.inputs[i]));
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const std::uint32_t variable = variables.output_variable(o);
    const redistribution::Placement target =
        variables.strategies(variable).inputs[0]->of(choice[variable]);
    plan.outputs.push_back({target, transition_us(graph.outputs()[o].value, target)});
  }
  return plan;
}

}  // namespace shardwright::operators
