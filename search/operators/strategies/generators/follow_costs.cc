#include "search/operators/strategies/generators/follow_costs.h"

#include <string>

namespace shardwright::operators::internal {
namespace {

// ColossalAI does not recognise a parameter below an index or an activation.
bool counts_as_param(const OpNode& node, const StrategyWriter& writer) {
  if (node.kind == OpKind::kGetitem || is_unary_elementwise(node.kind)) return false;
  return writer.operand(kInput).type == OperandType::kParameter;
}

FollowCosts generator_costs(const OpNode& node, const StrategyWriter& writer) {
  return {kNominalCompute,
          follow_memory(writer.local_bytes(kInput), writer.local_bytes(writer.output()),
                        counts_as_param(node, writer))};
}

// Source: elementwise_meta_info, ColossalAI
// auto_parallel/meta_profiler/meta_registry/activation.py.
FollowCosts activation_costs(const StrategyWriter& writer) {
  const bool scalar = writer.placed(kInput).dims.rank() == 0;
  const double operations = scalar ? 0 : writer.local_elements(kInput);
  const std::int64_t in = writer.local_float_bytes(kInput);
  return {phases(operations, operations), phases({2 * in, 0, 0, 0}, {in, 0, 0, 0})};
}

// Source: as before; the mask of one byte per element is kept for the backward pass.
FollowCosts dropout_costs(const StrategyWriter& writer) {
  FollowCosts costs = activation_costs(writer);
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t mask = in / 4;
  costs.memory = phases({2 * in, 0, 0, mask}, {in - mask, 0, mask, 0});
  return costs;
}

// Operators that only change the layout of memory: twice the output forward, and backward as the
// factors say. Source: tensor_related_metainfo, ColossalAI
// auto_parallel/meta_profiler/meta_registry/tensor.py.
FollowCosts layout_costs(const StrategyWriter& writer, std::int64_t backward,
                         std::int64_t temporary) {
  const std::int64_t out = writer.local_float_bytes(writer.output());
  return {{}, phases({2 * out, 0, 0, 0}, {backward * out, 0, temporary * out, 0})};
}

// Source: avgpool_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/pooling.py.
FollowCosts adaptive_pool_costs(const StrategyWriter& writer) {
  const double elements = writer.local_elements(kInput);
  return {phases(elements, elements), phases({writer.local_float_bytes(writer.output()), 0, 0, 0},
                                             {writer.local_float_bytes(kInput), 0, 0, 0})};
}

// Source: SoftmaxGenerator.update_compute_cost, SumGenerator.update_compute_cost.
FollowCosts reduction_costs(const OpNode& node, const StrategyWriter& writer) {
  FollowCosts costs = generator_costs(node, writer);
  const double in = writer.local_elements(kInput);
  const double out = writer.local_elements(writer.output());
  costs.compute = node.kind == OpKind::kSoftmax ? phases(2 * out, in) : phases(in, out);
  return costs;
}

FollowCosts default_reshape_costs(const OpNode& node, const StrategyWriter& writer) {
  const std::string& operation = node.attrs.target;
  if (operation == "unsqueeze") return layout_costs(writer, 0, 0);
  for (const char* known : {"view", "split", "flatten", "transpose", "permute"}) {
    if (operation == known) return layout_costs(writer, 1, 0);
  }
  return generator_costs(node, writer);
}

}  // namespace

FollowCosts follow_costs(const OpNode& node, const StrategyWriter& writer) {
  switch (node.kind) {
    case OpKind::kRelu:
      return activation_costs(writer);
    case OpKind::kTanh:  // ColossalAI has measured the function, not the module
      return node.call == OpCall::kFunction ? activation_costs(writer)
                                            : generator_costs(node, writer);
    case OpKind::kDropout:
      return dropout_costs(writer);
    case OpKind::kContiguous:
    case OpKind::kType:
      return layout_costs(writer, 1, 1);
    case OpKind::kTo:
    case OpKind::kUnsqueeze:
      return layout_costs(writer, 0, 0);
    case OpKind::kFlatten:
      return layout_costs(writer, 1, 0);
    case OpKind::kAdaptiveAvgPool2d:
      return adaptive_pool_costs(writer);
    case OpKind::kDefaultReshape:
      return default_reshape_costs(node, writer);
    case OpKind::kSoftmax:
    case OpKind::kSum:
      return reduction_costs(node, writer);
    default:
      return generator_costs(node, writer);
  }
}

}  // namespace shardwright::operators::internal
