#include "search/operators/aten/model/aten_model.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "core/nearest_name.h"
#include "core/operators/aten/memory/moving_bytes.h"
#include "core/redistribution/placement/placement_notation.h"
#include "core/redistribution/placement/shard_boxes.h"
#include "core/text/extents.h"
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

std::string_view word_of(AtenConstraint::Of of) {
  switch (of) {
    case AtenConstraint::Of::kParameter:
      return "parameter";
    case AtenConstraint::Of::kBuffer:
      return "buffer";
    case AtenConstraint::Of::kInput:
      return "input";
    case AtenConstraint::Of::kTangent:
      return "tangent";
    case AtenConstraint::Of::kOutput:
      return "output";
  }
  return "";
}

// A tensor that a constraint may name: its target, and the variable that places it.
struct Named {
  std::string_view target;
  std::size_t variable = 0;
};

std::vector<Named> named_tensors(const AtenGraph& graph, const AtenVariables& variables,
                                 AtenConstraint::Of of) {
  std::vector<Named> named;
  if (of == AtenConstraint::Of::kOutput) {
    for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
      const AtenOutput& output = graph.outputs()[o];
      if (output.role == AtenOutputRole::kOutput)
        named.push_back({output.target, variables.output_variable(o)});
    }
    return named;
  }
  const AtenRole role = role_of(of);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].role == role) named.push_back({graph[n].target, n});
  }
  return named;
}

Error unknown_target(const std::string& where, const AtenConstraint& constraint,
                     const std::vector<Named>& named) {
  const std::string kind(word_of(constraint.of));
  if (named.empty()) return invalid_input(where, "the graph has no " + kind + "s");
  std::vector<std::string_view> known;
  known.reserve(named.size());
  for (const Named& each : named)
    known.push_back(each.target);
  return invalid_input(where, "unknown " + kind + " " + quoted(constraint.target) +
                                  suggestion(constraint.target, known));
}

// As files write it: "[R, S0]".
std::string placement_text(const redistribution::Placement& placement, std::size_t num_axes) {
  std::string text;
  for (const std::string& word : redistribution::to_words(placement, num_axes))
    text += (text.empty() ? "" : ", ") + (word == "P(sum)" ? "P" : word);
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  return "[" + text + "]";
}

// The placements that strategies have for a tensor, each once.
std::string allowed_text(const std::optional<PlacementColumn>& column, std::size_t strategies,
                         std::size_t num_axes) {
  constexpr std::size_t kMostShown = 12;
  std::vector<std::string> allowed;
  for (std::size_t s = 0; column && s < strategies; ++s) {
    std::string text = placement_text(column->of(s), num_axes);
    if (std::find(allowed.begin(), allowed.end(), text) == allowed.end())
      allowed.push_back(std::move(text));
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(allowed.size(), kMostShown); ++i)
    list += (list.empty() ? "" : ", ") + allowed[i];
  if (allowed.size() > kMostShown)
    list += " and " + std::to_string(allowed.size() - kMostShown) + " more";
  return list.empty() ? "none" : list;
}

Error impossible_placement(const std::string& where, const AtenConstraint& constraint,
                           const AtenTensor& tensor, const std::string& allowed,
                           std::size_t num_axes) {
  return invalid_input(
      where, "a tensor of shape " + extents_text({tensor.shape.data(), tensor.shape.size()}) +
                 ", with " + std::to_string(tensor.shape.size()) +
                 (tensor.shape.size() == 1 ? " dimension" : " dimensions") +
                 ", cannot be placed as " + placement_text(constraint.placement, num_axes) +
                 " on this mesh; allowed: " + allowed);
}

const AtenTensor& placed_tensor(const AtenGraph& graph, std::size_t variable) {
  return variable < graph.size() ? *graph[variable].outputs[0]
                                 : graph.tensor(graph.outputs()[variable - graph.size()].value);
}

Status constrain(const AtenVariables& variables, const std::vector<AtenConstraint>& constraints,
                 std::vector<std::vector<double>>& costs) {
  const AtenGraph& graph = variables.graph();
  for (const AtenConstraint& constraint : constraints) {
    const std::string where =
        "/placements/" + std::string(word_of(constraint.of)) + "s/" + constraint.target;
    const std::vector<Named> named = named_tensors(graph, variables, constraint.of);
    const auto found = std::find_if(named.begin(), named.end(), [&](const Named& each) {
      return each.target == constraint.target;
    });
    if (found == named.end()) return unknown_target(where, constraint, named);
    const std::size_t variable = found->variable;
    const StrategyClass& strategies = variables.strategies(variable);
    const std::optional<PlacementColumn>& column =
        variable < graph.size() ? strategies.outputs[0] : strategies.inputs[0];
    const redistribution::Placement wanted =
        redistribution::effective_placement(variables.mesh(), constraint.placement);
    bool any = false;
    for (std::size_t s = 0; s < strategies.size(); ++s) {
      const bool fits = column && column->of(s) == wanted;
      if (!fits) costs[variable][s] = kForbidden;
      any = any || fits;
    }
    if (!any) {
      const std::size_t num_axes = variables.mesh().size();
      return impossible_placement(where, constraint, placed_tensor(graph, variable),
                                  allowed_text(column, strategies.size(), num_axes), num_axes);
    }
  }
  return {};
}

std::vector<std::vector<double>> compute_costs(const AtenVariables& variables) {
  std::vector<std::vector<double>> costs;
  costs.reserve(variables.size());
  for (std::size_t v = 0; v < variables.size(); ++v)
    costs.push_back(variables.strategies(v).compute_us);
  return costs;
}

}  // namespace

Result<AtenModel> build_model(const AtenGraph& graph, const AtenRequest& request,
                              TransitionCosts& transitions, Executor& executor,
                              std::span<const TakenTensor> moved) {
  Overlap overlap(graph, request.overlap);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      AtenVariables variables,
      AtenVariables::make(graph, {request.mesh, request.backend},
                          {request.device, transitions, overlap}, moved, executor));
  std::vector<std::vector<double>> costs = compute_costs(variables);
  SHARDWRIGHT_RETURN_IF_ERROR(constrain(variables, request.constraints, costs));
  AtenTransfers transfers = make_transfers(variables, overlap, transitions, executor);
  AtenUsages usages;
  if (request.memory_limit) usages = make_usages(variables, request.optimizer_states);
  std::vector<std::uint32_t> leaders(variables.size());
  std::iota(leaders.begin(), leaders.end(), 0U);
  if (request.blocks == BlockSharing::kEqual) leaders = block_leaders(variables);
  return AtenModel{std::move(overlap),   std::move(variables), std::move(costs),
                   std::move(transfers), std::move(usages),    std::move(leaders)};
}

void choose_movers(const AtenVariables& variables, TransitionCosts& transitions,
                   std::vector<std::uint32_t>& choice) {
  const AtenGraph& graph = variables.graph();
  for (std::uint32_t v = variables.num_consumers(); v < variables.size(); ++v) {
    const TakenTensor& taken = variables.moved()[v - variables.num_consumers()];
    const TensorRef ref = taken_value(graph, taken);
    const redistribution::Placement& source =
        variables.strategies(ref.node).outputs[ref.output]->of(choice[ref.node]);
    const redistribution::Placement& target =
        variables.strategies(taken.consumer).inputs[taken.input]->of(choice[taken.consumer]);
    const std::int64_t bytes =
        moving_bytes(graph.tensor(ref), variables.mesh(), source, target, variables.backend());
    const StrategyClass& mover = variables.strategies(v);
    const std::vector<double>& times = mover.moving_us;
    const double us =
        times.empty() ? 0 : transitions.microseconds(graph.tensor(ref), source, target);
    std::uint32_t s = 0;
    while (mover.outputs[0]->of(s) != target || mover.moving_bytes[s] != bytes ||
           (!times.empty() && times[s] != us))
      ++s;
    choice.push_back(s);
  }
}

AtenPlan plan_of(const AtenModel& model, const std::vector<std::uint32_t>& choice,
                 TransitionCosts& transitions) {
  const AtenVariables& variables = model.variables;
  const AtenGraph& graph = variables.graph();
  AtenPlan plan;
  plan.mesh = variables.mesh();
  plan.backend = variables.backend();
  plan.overlap = model.overlap.shares();
  const auto placement = [](const std::optional<PlacementColumn>& column, std::uint32_t s) {
    return column ? MaybePlacement(column->of(s)) : std::nullopt;
  };
  const auto transition_us = [&](const TensorRef& ref, const MaybePlacement& target) {
    const MaybePlacement& source = plan.nodes[ref.node].outputs[ref.output];
    if (!source || !target || *source == *target) return 0.0;
    return transitions.microseconds(graph.tensor(ref), *source, *target);
  };
  const auto compute_us = [&](std::uint32_t node) { return plan.nodes[node].compute_us; };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const StrategyClass& strategies = variables.strategies(n);
    const std::uint32_t s = choice[n];
    AtenNodePlan& node = plan.nodes.emplace_back();
    node.compute_us = strategies.compute_us[s];
    for (const auto& column : strategies.outputs)
      node.outputs.push_back(placement(column, s));
    for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i) {
      node.inputs.push_back(placement(strategies.inputs[i], s));
      node.redistribute_us.push_back(transition_us(graph[n].inputs[i], node.inputs[i]));
      if (!plan.overlap.any()) continue;
      node.hidden_us.push_back(
          model.overlap.hidden_us({n, i}, node.redistribute_us.back(), compute_us));
    }
  }
  for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
    const std::uint32_t variable = variables.output_variable(o);
    const redistribution::Placement target =
        variables.strategies(variable).inputs[0]->of(choice[variable]);
    const double move_us = transition_us(graph.outputs()[o].value, target);
    plan.outputs.push_back(
        {target, move_us, model.overlap.hidden_us({variable, 0}, move_us, compute_us)});
  }
  return plan;
}

}  // namespace shardwright::operators
