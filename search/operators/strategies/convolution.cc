// Convolutions.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

constexpr std::size_t kWeight = 1;
constexpr std::size_t kBias = 2;

// A convolution as a product: rows are the batch, columns the output channels, and the input
// channels are contracted. Source: ConvStrategyGenerator.collate_strategies, ColossalAI
// node_handler/strategy/conv_strategy_generator.py.
ProductAxesList convolution_axes(const MeshAxes& axes) {
  ProductAxesList list;
  list.reserve(16);
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, 0, b});
  for (const std::uint8_t a : axes.singles)
    list.push_back({a, 0, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, b, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({0, a, b});
  for (const std::uint8_t a : axes.singles)
    list.push_back({0, a, 0});
  for (const std::uint8_t a : axes.singles)
    list.push_back({0, 0, a});
  list.push_back({});
  list.push_back({axes.all, 0, 0});
  list.push_back({0, axes.all, 0});
  list.push_back({0, 0, axes.all});
  return list;
}

bool place(StrategyWriter& writer, const ProductAxes& axes, bool has_bias) {
  const std::size_t rank = writer.operand(kInput).shapes[0]->rank();
  const auto two = [rank](std::uint8_t first, std::uint8_t second) {
    return DimSpecs(rank).with(0, dim(first)).with(1, dim(second));
  };
  return writer.place(kInput, two(axes.row, axes.contracted)) &&
         writer.place(kWeight, two(axes.column, axes.contracted)) &&
         writer.place(writer.output(), two(axes.row, axes.column)) &&
         (!has_bias || writer.place(kBias, DimSpecs(1).with(0, dim(axes.column))));
}

// Adds the actions in ColossalAI's order.
void communicate(const StrategyWriter& writer, Strategy& strategy, const ProductAxes& axes,
                 bool has_bias) {
  const std::size_t output = writer.output();
  if (axes.contracted != 0)
    writer.all_reduce_forward(strategy, output, axes.contracted, writer.local_elements(output));
  if (axes.column != 0) {
    writer.all_reduce_backward(strategy, kInput, axes.column, writer.local_elements(kInput));
    strategy.actions[strategy.num_actions - 1U].place = CommPlace::kBefore;
  }
  if (axes.row == 0) return;
  writer.all_reduce_backward(strategy, kWeight, axes.row, writer.local_elements(kWeight));
  if (has_bias) writer.all_reduce_backward(strategy, kBias, axes.row, writer.local_elements(kBias));
}

// Source: convnd_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/conv.py, and the
// counts for aten.convolution in colossalai/_analyzer/_subclasses/flop_tensor.py.
void cost(const StrategyWriter& writer, Strategy& strategy, bool has_bias) {
  const LocalShape x(writer.mesh(), writer.placed(kInput));
  const LocalShape w(writer.mesh(), writer.placed(kWeight));
  const LocalShape y(writer.mesh(), writer.placed(writer.output()));
  const double spatial = y.product(2, y.rank());
  const double forward = x[0] * w.product() * spatial;
  const double input_gradient = y[0] * w.product() * spatial;
  const double weight_gradient = x[1] * y.product() * w.product(2, w.rank());
  strategy.compute = phases(forward, input_gradient + weight_gradient);
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t out = writer.local_float_bytes(writer.output());
  const std::int64_t parameters =
      writer.local_float_bytes(kWeight) + (has_bias ? writer.local_float_bytes(kBias) : 0);
  strategy.memory = phases({in + out, parameters, 0, 0}, {in + parameters, parameters, 0, 0});
}

}  // namespace

void generate_convolution(const GeneratorInput&, StrategyWriter& writer) {
  const bool has_bias = writer.num_operands() == 4;
  const MeshAxes mesh_axes(writer.mesh());
  for (const ProductAxes& axes : convolution_axes(mesh_axes)) {
    writer.begin();
    if (!place(writer, axes, has_bias)) continue;
    Strategy* strategy = writer.finish(axes.name(StrategyName::Form::kMatmul));
    if (strategy == nullptr) continue;
    communicate(writer, *strategy, axes, has_bias);
    cost(writer, *strategy, has_bias);
  }
}

}  // namespace shardwright::operators::generators
