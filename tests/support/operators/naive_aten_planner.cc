#include "tests/support/operators/naive_aten_planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/operators/aten/evaluate_plan.h"
#include "core/operators/aten/roofline.h"

namespace shardwright::test_support {
namespace {

using namespace operators;
using redistribution::AxisPlacement;
using redistribution::MeshShape;
using redistribution::Placement;

// Calls visit(entries) for every combination; entries[axis] is the number of a rule's entry.
template <class Visit>
void for_each_combination(std::size_t entries, std::size_t axes, const Visit& visit) {
  std::vector<std::size_t> chosen(axes, 0);
  for (;;) {
    visit(chosen);
    std::size_t axis = 0;
    while (axis < axes && ++chosen[axis] == entries)
      chosen[axis++] = 0;
    if (axis == axes) return;
  }
}

// Returns false if a device would have no elements of the tensor.
bool fits(const AtenTensor& tensor, const MeshShape& mesh, const std::vector<AxisPlacement>& axes) {
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < mesh.size(); ++axis)
      parts *= axes[axis] == AxisPlacement::shard(dim) ? mesh[axis] : 1;
    if (parts > 1 && tensor.shape[dim] < parts) return false;
  }
  return true;
}

// Makes the placement. Returns false if it is invalid or leaves a device without elements.
bool place_tensor(const AtenTensor& tensor, const MeshShape& mesh,
                  const std::vector<AxisPlacement>& axes, MaybePlacement& out) {
  const auto placement = Placement::make(axes, tensor.shape.size());
  if (!placement.ok() || !fits(tensor, mesh, axes)) return false;
  out = *placement;
  return true;
}

}  // namespace

NaiveAtenPlanner::NaiveAtenPlanner(const AtenGraph& graph, const MeshShape& mesh,
                                   const ComputeDevice& device, TransitionCosts& transitions,
                                   std::int64_t optimizer_states)
    : graph_(graph), device_(device), transitions_(transitions) {
  plan_.mesh = mesh;
  plan_.nodes.resize(graph.size());
  plan_.outputs.resize(graph.outputs().size());
  const auto nodes = static_cast<std::uint32_t>(graph.size());
  std::vector<std::size_t> step_of(graph.size() + graph.outputs().size());
  for (std::uint32_t n = 0; n < nodes; ++n) {
    step_of[n] = steps_.size();
    steps_.push_back({n, options_of_node(graph[n]), {}, {}, 0});
    for (std::uint32_t o = 0; o < graph.outputs().size(); ++o) {
      const TensorRef& value = graph.outputs()[o].value;
      if (value.node != n) continue;
      step_of[nodes + o] = steps_.size();
      steps_.push_back({nodes + o, options_of_output(graph.tensor(value)), {}, {}, 0});
    }
  }
  for (const HeldTensor& held : held_tensors(graph, optimizer_states)) {
    const bool leaves = held.kind == HeldTensor::Kind::kGraphOutput;
    steps_[step_of[held.index + (leaves ? nodes : 0)]].held.push_back(held);
  }
  held_.assign(TimeLine(graph).size(), 0);
  double rest = 0;
  for (std::size_t s = steps_.size(); s-- > 0;) {
    double least = std::numeric_limits<double>::infinity();
    for (const Option& option : steps_[s].options)
      least = std::min(least, option.compute_us);
    rest += least;
    steps_[s].least_rest_us = rest;
  }
  for (Step& step : steps_) {
    for (std::size_t h = 0; h < step.held.size(); ++h) {
      std::int64_t least = step.held[h].is_taken() ? 0 : std::numeric_limits<std::int64_t>::max();
      for (std::size_t k = 0; least > 0 && k < step.options.size(); ++k) {
        place(step, step.options[k]);
        least = std::min(least, bytes_of(step, h));
      }
      step.least.push_back(least);
      hold(step.held[h], least);
    }
  }
}

NaiveAtenAnswer NaiveAtenPlanner::run(std::int64_t limit, std::uint64_t most_tried) {
  limit_ = limit;
  left_ = most_tried;
  answer_ = {};
  if (*std::max_element(held_.begin(), held_.end()) <= limit) visit(0, 0);
  answer_.ended = left_ > 0;
  return answer_;
}

std::vector<NaiveAtenPlanner::Option> NaiveAtenPlanner::options_of_node(
    const AtenNode& node) const {
  const std::vector<AxisEntry>& entries = graph_.rule_of(node).entries;
  const MeshShape& mesh = plan_.mesh;
  std::vector<Option> options;
  for_each_combination(entries.size(), mesh.size(), [&](const std::vector<std::size_t>& chosen) {
    for (std::size_t e = 0; e < entries.size(); ++e) {
      std::int64_t devices = 1;
      for (std::size_t axis = 0; axis < mesh.size(); ++axis)
        devices *= chosen[axis] == e ? mesh[axis] : 1;
      if (entries[e].divides != 0 && entries[e].divides % devices != 0) return;
    }
    Option option;
    option.outputs.resize(node.outputs.size());
    option.inputs.resize(node.inputs.size());
    std::vector<AxisPlacement> axes(mesh.size());
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!entries[0].outputs[o]) continue;
      for (std::size_t axis = 0; axis < mesh.size(); ++axis)
        axes[axis] = *entries[chosen[axis]].outputs[o];
      if (!place_tensor(*node.outputs[o], mesh, axes, option.outputs[o])) return;
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!entries[0].inputs[i]) continue;
      for (std::size_t axis = 0; axis < mesh.size(); ++axis)
        axes[axis] = *entries[chosen[axis]].inputs[i];
      if (!place_tensor(graph_.tensor(node.inputs[i]), mesh, axes, option.inputs[i])) return;
    }
    option.compute_us = compute_us(graph_, node, mesh, option.outputs, option.inputs, device_);
    options.push_back(std::move(option));
  });
  return options;
}

std::vector<NaiveAtenPlanner::Option> NaiveAtenPlanner::options_of_output(
    const AtenTensor& tensor) const {
  const MeshShape& mesh = plan_.mesh;
  std::vector<Option> options;
  for_each_combination(
      tensor.shape.size() + 1, mesh.size(), [&](const std::vector<std::size_t>& chosen) {
        std::vector<AxisPlacement> axes;
        for (const std::size_t each : chosen)
          axes.push_back(each == 0 ? AxisPlacement::replicate() : AxisPlacement::shard(each - 1));
        Option option;
        option.inputs.resize(1);
        if (place_tensor(tensor, mesh, axes, option.inputs[0])) options.push_back(option);
      });
  return options;
}

void NaiveAtenPlanner::place(const Step& step, const Option& option) {
  if (step.consumer < graph_.size()) {
    plan_.nodes[step.consumer].outputs = option.outputs;
    plan_.nodes[step.consumer].inputs = option.inputs;
  } else {
    plan_.outputs[step.consumer - graph_.size()].placement = *option.inputs[0];
  }
}

double NaiveAtenPlanner::cost_of(const Step& step, const Option& option) {
  double cost = option.compute_us;
  for (std::uint32_t i = 0; i < option.inputs.size(); ++i) {
    const TensorRef ref = taken_value(graph_, {step.consumer, i});
    const MaybePlacement& source = plan_.nodes[ref.node].outputs[ref.output];
    if (!source || !option.inputs[i] || *source == *option.inputs[i]) continue;
    cost += transitions_.microseconds(graph_.tensor(ref), *source, *option.inputs[i]);
  }
  return cost;
}

// A gradient must have the placement of its parameter, and a tangent that of its output. Each pair
// is checked when the later of its two tensors is placed.
bool NaiveAtenPlanner::is_paired(const Step& step, const Option& option) const {
  return std::all_of(graph_.pairs().begin(), graph_.pairs().end(), [&](const AtenPair& pair) {
    const bool is_output_last = pair.placeholder <= graph_.outputs()[pair.output].value.node;
    if (step.consumer != (is_output_last ? graph_.size() + pair.output : pair.placeholder))
      return true;
    return is_output_last ? *plan_.nodes[pair.placeholder].outputs[0] == *option.inputs[0]
                          : *option.outputs[0] == plan_.outputs[pair.output].placement;
  });
}

std::int64_t NaiveAtenPlanner::bytes_of(const Step& step, std::size_t held) const {
  return held_bytes(graph_, plan_, step.held[held]) * step.held[held].copies;
}

void NaiveAtenPlanner::hold(const HeldTensor& held, std::int64_t bytes) {
  for (std::uint32_t moment = held.live.begin; moment < held.live.end; ++moment)
    held_[moment] += bytes;
}

bool NaiveAtenPlanner::is_within(const HeldTensor& held) const {
  return std::all_of(held_.begin() + held.live.begin, held_.begin() + held.live.end,
                     [&](std::int64_t bytes) { return bytes <= limit_; });
}

void NaiveAtenPlanner::visit(std::size_t s, double cost) {
  if (s == steps_.size()) {
    answer_.least_us = cost;
    return;
  }
  const Step& step = steps_[s];
  const double rest_us = s + 1 < steps_.size() ? steps_[s + 1].least_rest_us : 0;
  // The cheapest option first, so that the loop can end early.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t k = 0; k < step.options.size(); ++k) {
    if (is_paired(step, step.options[k])) order.emplace_back(cost_of(step, step.options[k]), k);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [own, k] : order) {
    const double most = answer_.least_us.value_or(std::numeric_limits<double>::infinity());
    if (!(cost + own + rest_us < most)) return;
    if (left_ == 0 || --left_ == 0) return;
    place(step, step.options[k]);
    std::vector<std::int64_t> more;
    for (std::size_t h = 0; h < step.held.size(); ++h) {
      more.push_back(bytes_of(step, h) - step.least[h]);
      hold(step.held[h], more[h]);
    }
    const bool is_light = std::all_of(step.held.begin(), step.held.end(),
                                      [&](const HeldTensor& held) { return is_within(held); });
    if (is_light) visit(s + 1, cost + own);
    for (std::size_t h = 0; h < step.held.size(); ++h)
      hold(step.held[h], -more[h]);
  }
}

}  // namespace shardwright::test_support
