#include "search/operators/aten/model/aten_model.h"

#include <numeric>
#include <utility>

#include "search/operators/aten/model/shared_blocks.h"

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
                 std::vector<std::vector<double>>& costs) {
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    const std::string where = "/constraints/" + std::to_string(c);
    const AtenConstraint& constraint = constraints[c];
    const std::size_t variable = constrained_variable(variables.graph(), variables, constraint);
    if (variable == variables.size())
      return invalid_input(where, "the graph has no " + quoted(constraint.target));
    const StrategyClass& strategies = variables.strategies(variable);
    const std::optional<PlacementColumn>& column =
        variable < variables.graph().size() ? strategies.outputs[0] : strategies.inputs[0];
    bool any = false;
    for (std::size_t s = 0; s < strategies.size(); ++s) {
      const bool fits = column && column->of(s) == constraint.placement;
      if (!fits) costs[variable][s] = kForbidden;
      any = any || fits;
    }
    if (!any) return invalid_input(where, quoted(constraint.target) + " cannot lie like that");
  }
  return {};
}

std::vector<std::vector<double>> compute_costs(const AtenVariables& variables) {
  std::vector<std::vector<double>> costs;
  costs.reserve(variables.size());
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::vector<double>& once = variables.strategies(v).compute_us;
    costs.push_back(once);
    if (variables.owns(variables.class_of(v)))
      costs.back().insert(costs.back().end(), once.begin(), once.end());
  }
  return costs;
}

}  // namespace

Result<AtenModel> build_model(const AtenGraph& graph, const AtenRequest& request,
                              TransitionCosts& transitions, Executor& executor) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenVariables variables,
                               AtenVariables::make(graph, request.mesh, request.device,
                                                   request.memory_limit.has_value(), executor));
  std::vector<std::vector<double>> costs = compute_costs(variables);
  SHARDWRIGHT_RETURN_IF_ERROR(constrain(variables, request.constraints, costs));
  AtenTransfers transfers = make_transfers(variables, transitions, executor);
  AtenUsages usages;
  if (request.memory_limit) usages = make_usages(variables, request.optimizer_states);
  std::vector<std::uint32_t> leaders(variables.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  if (request.blocks == BlockSharing::kEqual) leaders = block_leaders(variables);
  return AtenModel{std::move(variables), std::move(costs), std::move(transfers), std::move(usages),
                   std::move(leaders)};
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
