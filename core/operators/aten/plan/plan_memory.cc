#include "core/operators/aten/plan/plan_memory.h"

#include "core/operators/aten/memory/moving_bytes.h"

namespace shardwright::operators {
namespace {

using redistribution::Placement;

std::int64_t bytes_of_local(const AtenTensor& tensor, const AtenPlan& plan,
                            const MaybePlacement& placement) {
  return local_bytes(tensor, plan.mesh, placement.value_or(Placement()));
}

// What one copy is for; a parameter's further copies are the optimizer's.
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
  std::vector<AtenMemory> memory(time.size() + 1);  // changes, until they are summed
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

}  // namespace shardwright::operators
