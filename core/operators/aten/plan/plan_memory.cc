#include "core/operators/aten/plan/plan_memory.h"

namespace shardwright::operators {
namespace {

using redistribution::Placement;

std::int64_t bytes_of_local(const AtenTensor& tensor, const AtenPlan& plan,
                            const MaybePlacement& placement) {
  return local_bytes(tensor, plan.mesh, placement.value_or(Placement()));
}

// Adds one copy to what it is for; a parameter's further copies are the optimizer's.
void add_copy(const AtenGraph& graph, const HeldTensor& held, std::int64_t bytes,
              AtenMemory& memory) {
  if (held.kind == HeldTensor::Kind::kGraphOutput) {
    const bool is_gradient = graph.outputs()[held.index].role == AtenOutputRole::kGradient;
    (is_gradient ? memory.gradients : memory.activations) += bytes;
    return;
  }
  switch (graph[held.index].role) {
    case AtenRole::kParameter:
    case AtenRole::kBuffer:
      memory.parameters += bytes;
      break;
    case AtenRole::kInput:
    case AtenRole::kTangent:
      memory.inputs += bytes;
      break;
    case AtenRole::kOperator:
      memory.activations += bytes;
      break;
  }
}

void add(const AtenMemory& change, AtenMemory& sum) {
  sum.parameters += change.parameters;
  sum.optimizer_states += change.optimizer_states;
  sum.gradients += change.gradients;
  sum.inputs += change.inputs;
  sum.activations += change.activations;
}

}  // namespace

bool is_moved(const AtenPlan& plan, const TensorRef& ref, const MaybePlacement& target) {
  const MaybePlacement& source = plan.nodes[ref.node].outputs[ref.output];
  return source && target && *source != *target;
}

std::int64_t held_bytes(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held) {
  switch (held.kind) {
    case HeldTensor::Kind::kOutput:
      return bytes_of_local(*graph[held.index].outputs[held.tensor], plan,
                            plan.nodes[held.index].outputs[held.tensor]);
    case HeldTensor::Kind::kMovedInput: {
      const TensorRef& ref = graph[held.index].inputs[0];
      const MaybePlacement& taken = plan.nodes[held.index].inputs[0];
      return is_moved(plan, ref, taken) ? bytes_of_local(graph.tensor(ref), plan, taken) : 0;
    }
    case HeldTensor::Kind::kGraphOutput:
      return bytes_of_local(graph.tensor(graph.outputs()[held.index].value), plan,
                            plan.outputs[held.index].placement);
  }
  return 0;
}

std::vector<AtenMemory> memory_over_time(const AtenGraph& graph, const AtenPlan& plan,
                                         std::int64_t optimizer_states) {
  std::vector<AtenMemory> memory(num_time_points(graph) + 1);  // changes, until they are summed
  for (const HeldTensor& held : held_tensors(graph, optimizer_states)) {
    const std::int64_t bytes = held_bytes(graph, plan, held);
    add_copy(graph, held, bytes, memory[held.live.begin]);
    add_copy(graph, held, -bytes, memory[held.live.end]);
    memory[held.live.begin].optimizer_states += bytes * (held.copies - 1);
    memory[held.live.end].optimizer_states -= bytes * (held.copies - 1);
  }
  for (std::size_t t = 1; t < memory.size(); ++t)
    add(memory[t - 1], memory[t]);
  memory.pop_back();
  return memory;
}

}  // namespace shardwright::operators
