#include "core/operators/aten/evaluate_plan.h"

#include <algorithm>
#include <limits>

namespace shardwright::operators {
namespace {

using redistribution::Placement;

std::int64_t bytes_of_local(const AtenTensor& tensor, const AtenPlan& plan,
                            const MaybePlacement& placement) {
  return local_bytes(tensor, plan.mesh, placement.value_or(Placement()));
}

// Returns the purpose of one copy. Further copies of a parameter are optimizer states.
std::int64_t AtenMemory::*purpose(const AtenGraph& graph, const HeldTensor& held) {
  const bool leaves = held.kind == HeldTensor::Kind::kGraphOutput ||
                      (held.is_taken() && held.index >= graph.size());
  if (held.kind == HeldTensor::Kind::kMoving) return &AtenMemory::moved;
  if (held.kind == HeldTensor::Kind::kLastTaken) return &AtenMemory::activations;
  if (leaves) {
    const std::size_t output = held.is_taken() ? held.index - graph.size() : held.index;
    return graph.outputs()[output].role == AtenOutputRole::kGradient ? &AtenMemory::gradients
                                                                     : &AtenMemory::activations;
  }
  const AtenNode& node = graph[held.index];
  if (held.is_taken()) return node.view ? &AtenMemory::activations : &AtenMemory::moved;
  switch (node.role) {
    case AtenRole::kParameter:
    case AtenRole::kBuffer:
      return &AtenMemory::parameters;
    case AtenRole::kInput:
    case AtenRole::kTangent:
      return &AtenMemory::inputs;
    case AtenRole::kOperator:
      break;
  }
  return &AtenMemory::activations;
}

void add(const AtenMemory& change, AtenMemory& sum) {
  sum.parameters += change.parameters;
  sum.optimizer_states += change.optimizer_states;
  sum.gradients += change.gradients;
  sum.inputs += change.inputs;
  sum.activations += change.activations;
  sum.moved += change.moved;
}

using redistribution::AxisPlacement;
using redistribution::MeshShape;

MaybeAxisPlacement on_axis(const MaybePlacement& placement, std::size_t axis) {
  return placement ? MaybeAxisPlacement(placement->on(axis)) : std::nullopt;
}

bool matches(const std::vector<MaybeAxisPlacement>& entry,
             const std::vector<MaybePlacement>& placements, std::size_t axis) {
  for (std::size_t i = 0; i < entry.size(); ++i) {
    if (entry[i] != on_axis(placements[i], axis)) return false;
  }
  return true;
}

// Evaluates one plan.
// Thread safety: one thread at a time.
class Evaluator {
 public:
  Evaluator(const AtenGraph& graph, const AtenPlan& plan, const AtenJudgement& judgement)
      : graph_(graph),
        plan_(plan),
        judgement_(judgement),
        overlap_(graph, plan.overlap),
        roles_(graph, plan.mesh, plan.roles) {}

  AtenEvaluation run() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      check_rule(n);
      check_extents(n);
      add_times(n);
    }
    for (std::uint32_t o = 0; o < graph_.outputs().size(); ++o)
      add_output(o);
    for (const AtenPair& pair : graph_.pairs())
      check_pair(pair);
    if (!plan_.roles.empty()) check_roles();
    add_memory();
    return std::move(result_);
  }

 private:
  void violation(const char* list, std::size_t index, const std::string& sentence) {
    result_.violations.push_back("/" + std::string(list) + "/" + std::to_string(index) + ": " +
                                 sentence);
  }

  bool is_data(std::size_t axis) const {
    return !plan_.roles.empty() && is_data_axis(plan_.roles[axis]);
  }

  // Every mesh axis of several devices must match an entry of the rule. The devices of all axes
  // that match an entry must divide AxisEntry::divides.
  void check_rule(std::uint32_t n) {
    const std::vector<AxisEntry>& entries = graph_.rule_of(graph_[n]).entries;
    std::vector<std::int64_t> devices(entries.size(), 1);
    for (std::size_t axis = 0; axis < plan_.mesh.size(); ++axis) {
      if (plan_.mesh[axis] == 1) continue;
      const auto entry =
          std::find_if(entries.begin(), entries.end(), [&](const AxisEntry& candidate) {
            if (candidate.by_part && !is_data(axis)) return false;
            return matches(candidate.outputs, plan_.nodes[n].outputs, axis) &&
                   matches(candidate.inputs, plan_.nodes[n].inputs, axis);
          });
      if (entry == entries.end()) {
        return violation("nodes", n,
                         "no strategy of the rule is that of axis " + std::to_string(axis));
      }
      devices[static_cast<std::size_t>(entry - entries.begin())] *= plan_.mesh[axis];
    }
    for (std::size_t e = 0; e < entries.size(); ++e) {
      if (entries[e].divides != 0 && entries[e].divides % devices[e] != 0) {
        violation("nodes", n,
                  std::to_string(devices[e]) + " devices do not divide " +
                      std::to_string(entries[e].divides));
      }
    }
  }

  void check_extents_of(std::uint32_t n, const AtenTensor& tensor, const Placement& placement) {
    for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
      std::int64_t parts = 1;
      for (const std::uint8_t axis : placement.axes_of(dim))
        parts *= plan_.mesh[axis];
      if (parts > 1 && tensor.shape[dim] < parts) {
        violation("nodes", n,
                  "a dimension of " + std::to_string(tensor.shape[dim]) + " is cut into " +
                      std::to_string(parts) + " parts");
      }
    }
  }

  void check_extents(std::uint32_t n) {
    const AtenNode& node = graph_[n];
    const AtenNodePlan& plan = plan_.nodes[n];
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (plan.outputs[o]) check_extents_of(n, *node.outputs[o], *plan.outputs[o]);
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (plan.inputs[i]) check_extents_of(n, graph_.tensor(node.inputs[i]), *plan.inputs[i]);
    }
  }

  const MaybePlacement& produced(const TensorRef& ref) const {
    return plan_.nodes[ref.node].outputs[ref.output];
  }

  // A tensor without a placement is not moved.
  double transition_us(const TensorRef& ref, const MaybePlacement& target) {
    const MaybePlacement& source = produced(ref);
    if (!source || !target || *source == *target) return 0;
    return judgement_.transitions.microseconds(graph_.tensor(ref), *source, *target);
  }

  void add_times(std::uint32_t n) {
    const AtenNode& node = graph_[n];
    const AtenNodePlan& plan = plan_.nodes[n];
    const RooflineTimes times =
        roofline_times(graph_, node, plan_.mesh, plan.outputs, plan.inputs, judgement_.device);
    const double us = times.us();
    if (us != plan.compute_us) violation("nodes", n, "compute_us is not what the graph gives");
    result_.compute_us += us;
    if (times.arithmetic_us > times.traffic_us) result_.arithmetic_us += us;
    std::int64_t moved = 0;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const double moving = transition_us(node.inputs[i], plan.inputs[i]);
      add_transition("nodes", n, moving, plan.redistribute_us[i]);
      add_hidden("nodes", n, hidden_us({n, static_cast<std::uint32_t>(i)}, moving),
                 plan.hidden_us.empty() ? 0 : plan.hidden_us[i]);
      if (is_moved(plan_, node.inputs[i], plan.inputs[i]))
        moved += local_bytes(graph_.tensor(node.inputs[i]), plan_.mesh, *plan.inputs[i]);
    }
    result_.most_moved_bytes = std::max(result_.most_moved_bytes, moved);
  }

  void add_transition(const char* list, std::size_t index, double us, double claimed) {
    if (us == std::numeric_limits<double>::infinity()) {
      return violation(list, index, "a tensor cannot get from its placement to what is wanted");
    }
    if (us != claimed) violation(list, index, "redistribute_us is not what the costs give");
    result_.redistribute_us += us;
  }

  // Returns the part of a move's time that an operator hides.
  double hidden_us(const TakenTensor& taken, double moving) const {
    return overlap_.hidden_us(taken, moving,
                              [&](std::uint32_t node) { return plan_.nodes[node].compute_us; });
  }

  void add_hidden(const char* list, std::size_t index, double us, double claimed) {
    if (us != claimed) violation(list, index, "hidden_us is not what the operators hide");
    result_.hidden_us += us;
  }

  void add_output(std::uint32_t o) {
    const AtenOutputPlan& output = plan_.outputs[o];
    if (output.placement.has_partial()) violation("outputs", o, "an output is partial");
    const double moving = transition_us(graph_.outputs()[o].value, output.placement);
    add_transition("outputs", o, moving, output.redistribute_us);
    const auto consumer = static_cast<std::uint32_t>(graph_.size()) + o;
    add_hidden("outputs", o, hidden_us({consumer, 0}, moving), output.hidden_us);
  }

  void check_pair(const AtenPair& pair) {
    const MaybePlacement& own = plan_.nodes[pair.placeholder].outputs[0];
    if (own && *own != plan_.outputs[pair.output].placement) {
      violation("outputs", pair.output,
                "it does not lie like " + quoted(graph_[pair.placeholder].name));
    }
  }

  // Every placeholder must lie, every operator run, and every tensor move as the roles of the axes
  // allow.
  void check_roles() {
    for (std::uint32_t n = 0; n < graph_.size(); ++n) {
      const AtenNodePlan& plan = plan_.nodes[n];
      for (std::size_t axis = 0; graph_[n].is_placeholder() && axis < plan_.mesh.size(); ++axis) {
        if (plan.outputs[0] && !roles_.may_hold(n, axis, plan.outputs[0]->on(axis)))
          role_violation("nodes", n, axis, "lies");
      }
      if (!graph_[n].is_placeholder()) check_run(n);
      for (std::uint32_t i = 0; i < plan.inputs.size(); ++i)
        check_move("nodes", n, {n, i}, plan.inputs[i]);
    }
    for (std::uint32_t o = 0; o < graph_.outputs().size(); ++o) {
      const auto consumer = static_cast<std::uint32_t>(graph_.size()) + o;
      check_move("outputs", o, {consumer, 0}, plan_.outputs[o].placement);
    }
  }

  void check_run(std::uint32_t n) {
    const AtenNodePlan& plan = plan_.nodes[n];
    for (std::size_t axis = 0; axis < plan_.mesh.size(); ++axis) {
      AxisEntry entry;
      for (const MaybePlacement& input : plan.inputs)
        entry.inputs.push_back(input ? MaybeAxisPlacement(input->on(axis)) : std::nullopt);
      for (const MaybePlacement& output : plan.outputs)
        entry.outputs.push_back(output ? MaybeAxisPlacement(output->on(axis)) : std::nullopt);
      if (!roles_.may_run(n, axis, entry)) role_violation("nodes", n, axis, "is used");
    }
  }

  void check_move(const char* list, std::size_t index, const TakenTensor& taken,
                  const MaybePlacement& target) {
    const MaybePlacement& source = produced(taken_value(graph_, taken));
    if (!source || !target) return;
    for (std::size_t axis = 0; axis < plan_.mesh.size(); ++axis) {
      if (!roles_.may_move(roles_.kind_of(taken), axis, source->on(axis), target->on(axis)))
        role_violation(list, index, axis, "moves");
    }
  }

  void role_violation(const char* list, std::size_t index, std::size_t axis, const char* verb) {
    const auto role = static_cast<std::size_t>(plan_.roles[axis]);
    violation(list, index,
              std::string("a tensor ") + verb + " along axis " + std::to_string(axis) +
                  " as its role, " + std::string(names_of(AxisRole{})[role]) + ", does not allow");
  }

  void add_memory() {
    const std::vector<AtenMemory> memory =
        memory_by_moment(graph_, plan_, judgement_.optimizer_states);
    for (std::uint32_t m = 0; m < memory.size(); ++m) {
      if (memory[m].total() <= result_.peak_bytes) continue;
      result_.peak_bytes = memory[m].total();
      result_.peak_moment = m;
    }
    result_.peak_at = TimeLine(graph_).node_at(result_.peak_moment);
  }

  const AtenGraph& graph_;
  const AtenPlan& plan_;
  const AtenJudgement& judgement_;
  Overlap overlap_;
  RoleRules roles_;
  AtenEvaluation result_;
};

}  // namespace

MaybePlacement taken_placement(const AtenGraph& graph, const AtenPlan& plan,
                               const TakenTensor& taken) {
  return taken.consumer < graph.size() ? plan.nodes[taken.consumer].inputs[taken.input]
                                       : plan.outputs[taken.consumer - graph.size()].placement;
}

bool is_moved(const AtenPlan& plan, const TensorRef& ref, const MaybePlacement& target) {
  const MaybePlacement& source = plan.nodes[ref.node].outputs[ref.output];
  return source && target && *source != *target;
}

std::int64_t held_bytes(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held) {
  if (held.is_taken()) {
    const TensorRef ref = taken_value(graph, held.taken());
    const MaybePlacement target = taken_placement(graph, plan, held.taken());
    if (!is_moved(plan, ref, target)) return 0;
    return held.kind == HeldTensor::Kind::kMoved
               ? bytes_of_local(graph.tensor(ref), plan, target)
               : moving_bytes(graph.tensor(ref), plan.mesh,
                              *plan.nodes[ref.node].outputs[ref.output], *target, plan.backend);
  }
  if (held.kind == HeldTensor::Kind::kLastTaken) {
    const AtenNode& node = graph[held.index];
    return bytes_of_local(graph.tensor(node.inputs[held.tensor]), plan,
                          plan.nodes[held.index].inputs[held.tensor]);
  }
  if (held.kind == HeldTensor::Kind::kGraphOutput) {
    return bytes_of_local(graph.tensor(graph.outputs()[held.index].value), plan,
                          plan.outputs[held.index].placement);
  }
  return bytes_of_local(*graph[held.index].outputs[held.tensor], plan,
                        plan.nodes[held.index].outputs[held.tensor]);
}

std::vector<AtenMemory> memory_by_moment(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states) {
  const TimeLine time(graph);
  std::vector<AtenMemory> memory(time.size() + 1);  // differences, until they are summed
  for (const HeldTensor& held : held_tensors(graph, optimizer_states)) {
    const std::int64_t bytes = held_bytes(graph, plan, held);
    memory[held.live.begin].*purpose(graph, held) += bytes;
    memory[held.live.end].*purpose(graph, held) -= bytes;
    memory[held.live.begin].optimizer_states += bytes * (held.copies - 1);
    memory[held.live.end].optimizer_states -= bytes * (held.copies - 1);
  }
  for (std::size_t t = 1; t < memory.size(); ++t)
    add(memory[t - 1], memory[t]);
  memory.pop_back();
  return memory;
}

std::vector<AtenMemory> memory_over_time(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states) {
  const TimeLine time(graph);
  const std::vector<AtenMemory> moments = memory_by_moment(graph, plan, optimizer_states);
  std::vector<AtenMemory> memory(num_time_points(graph));
  for (std::uint32_t m = 0; m < moments.size(); ++m) {
    AtenMemory& fullest = memory[time.node_at(m)];
    if (moments[m].total() > fullest.total()) fullest = moments[m];
  }
  return memory;
}

AtenEvaluation evaluate(const AtenGraph& graph, const AtenPlan& plan,
                        const AtenJudgement& judgement) {
  return Evaluator(graph, plan, judgement).run();
}

}  // namespace shardwright::operators
