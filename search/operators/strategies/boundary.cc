// Inputs and outputs of a graph, and operators that make tensors without inputs.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

// Replicated; if `distributed`, all axes shard the first dimension.
DimSpecs boundary_placement(const TensorShape& shape, const MeshAxes& axes, bool distributed) {
  const DimSpecs replicated(shape.rank());
  return distributed && shape.rank() > 0 ? replicated.with(0, dim(axes.all)) : replicated;
}

Error not_divisible(const GeneratorInput& input, const std::string& what) {
  return invalid_input("/nodes/" + std::to_string(input.index),
                       "the first dimension of \"" + what +
                           "\" must be a multiple of the number of devices to be distributed");
}

StrategyName boundary_name(bool distributed) {
  StrategyName name;
  name.form = distributed ? StrategyName::Form::kDistributed : StrategyName::Form::kReplica;
  return name;
}

}  // namespace

Status generate_placeholder(const GeneratorInput& input, StrategyWriter& writer) {
  const bool distributed = input.options.distributed_placeholder;
  const TensorShape& shape = *writer.operand(0).shapes[0];
  writer.begin();
  if ((distributed && shape.rank() == 0) ||
      !writer.place(0, boundary_placement(shape, MeshAxes(writer.mesh()), distributed)))
    return not_divisible(input, input.node.name);
  Strategy* strategy = writer.finish(boundary_name(distributed));
  strategy->compute = kNominalCompute;
  strategy->memory = phases({writer.local_bytes(0), 0, 0, 0}, {});
  return {};
}

Status generate_output(const GeneratorInput& input, StrategyWriter& writer) {
  const bool distributed = input.options.distributed_output;
  const MeshAxes axes(writer.mesh());
  writer.begin();
  std::vector<const ShardingSpec*> all;
  for (std::size_t i = 0; i < writer.output(); ++i) {
    const Operand& operand = writer.operand(i);
    for (const TensorShape* shape : operand.shapes) {
      const ShardingSpec* spec =
          distributed && shape->rank() == 0
              ? nullptr
              : input.table.find_or_add(shape, boundary_placement(*shape, axes, distributed));
      if (spec == nullptr) return not_divisible(input, operand.name);
      all.push_back(spec);
    }
    writer.place(i, std::span(all).last(operand.shapes.size()));
  }
  writer.place(writer.output(), all);
  Strategy* strategy = writer.finish(boundary_name(distributed));
  strategy->compute = kNominalCompute;
  return {};
}

void generate_tensor_constructor(const GeneratorInput&, StrategyWriter& writer) {
  writer.begin();
  writer.place(0, DimSpecs(writer.operand(0).shapes[0]->rank()));
  Strategy* strategy = writer.finish(boundary_name(false));
  if (strategy == nullptr) return;
  strategy->compute = kNominalCompute;
  strategy->memory = phases({writer.local_bytes(0), 0, 0, 0}, {});
}

}  // namespace shardwright::operators::generators
