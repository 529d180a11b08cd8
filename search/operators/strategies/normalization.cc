// Batch and layer normalization.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

// Multiplications per element of a normalization with weights. Source: norm_flop_counter,
// ColossalAI colossalai/_analyzer/_subclasses/flop_tensor.py.
constexpr double kNormOperations = 5;

// Indices of the operands of a normalization.
struct NormOperands {
  std::size_t weight, bias, output;

  explicit NormOperands(const StrategyWriter& writer)
      : weight(writer.param("weight")), bias(writer.param("bias")), output(writer.output()) {}
};

// Source: BatchNormStrategyGenerator.collate_strategies, ColossalAI
// node_handler/strategy/batch_norm_generator.py.
ProductAxesList batch_norm_axes(const MeshAxes& axes) {
  ProductAxesList list;
  list.reserve(9);
  for (const std::uint8_t a : axes.singles)
    list.push_back({0, 0, a});
  list.push_back({});
  list.push_back({0, 0, axes.all});
  for (const std::uint8_t a : axes.singles)
    list.push_back({a, 0, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, 0, b});
  list.push_back({axes.all, 0, 0});
  return list;
}

bool place_batch_norm(StrategyWriter& writer, const ProductAxes& axes) {
  const std::size_t rank = writer.operand(kInput).shapes[0]->rank();
  const DimSpecs data = DimSpecs(rank).with(0, dim(axes.row)).with(1, dim(axes.column));
  if (!writer.place(kInput, data) || !writer.place(writer.output(), data)) return false;
  for (std::size_t i = 1; i < writer.output(); ++i) {
    const std::size_t own_rank = writer.operand(i).shapes[0]->rank();
    const DimSpecs dims =
        own_rank == 0 ? DimSpecs(0) : DimSpecs(own_rank).with(0, dim(axes.column));
    if (!writer.place(i, dims)) return false;
  }
  return true;
}

// Source: batchnormnd_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/norm.py,
// whose totals leave out temporaries and buffers.
void cost_of_batch_norm(const StrategyWriter& writer, std::size_t mean, std::size_t variance,
                        Strategy& strategy) {
  const NormOperands of(writer);
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t out = writer.local_float_bytes(of.output);
  const std::int64_t parameters =
      writer.local_float_bytes(of.weight) + writer.local_float_bytes(of.bias);
  const std::int64_t statistics =
      writer.local_float_bytes(mean) + writer.local_float_bytes(variance);
  const double operations = kNormOperations * writer.local_elements(kInput);
  strategy.compute = phases(operations, operations);
  strategy.memory = phases({in + out + statistics, parameters, 0, statistics},
                           {in, parameters, statistics, statistics});
  strategy.memory.total.temporary = 0;
  strategy.memory.total.buffer = 0;
}

// Source: layernorm_meta_info in the same file. The statistics are one mean and one variance for
// each index of the first dimension.
void cost_of_layer_norm(const StrategyWriter& writer, Strategy& strategy) {
  const NormOperands of(writer);
  const LocalShape x(writer.mesh(), writer.placed(kInput));
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t out = writer.local_float_bytes(of.output);
  const std::int64_t parameters =
      writer.local_float_bytes(of.weight) + writer.local_float_bytes(of.bias);
  const std::int64_t statistics = static_cast<std::int64_t>(x[0]) * 2 * 4;
  const double operations = kNormOperations * x.product();
  strategy.compute = phases(operations, operations);
  strategy.memory = phases({in + out + parameters, parameters, 0, statistics},
                           {in + parameters, parameters, statistics, statistics});
}

}  // namespace

void generate_batch_norm(const GeneratorInput&, StrategyWriter& writer) {
  const std::size_t mean = writer.param("running_mean");
  const std::size_t variance = writer.param("running_var");
  const MeshAxes mesh_axes(writer.mesh());
  for (const ProductAxes& axes : batch_norm_axes(mesh_axes)) {
    writer.begin();
    if (!place_batch_norm(writer, axes)) continue;
    Strategy* strategy = writer.finish(axes.name(StrategyName::Form::kBatchNorm));
    if (strategy != nullptr) cost_of_batch_norm(writer, mean, variance, *strategy);
  }
}

// Source: LayerNormGenerator.collate_strategies, ColossalAI
// node_handler/strategy/layer_norm_generator.py.
void generate_layer_norm(const GeneratorInput&, StrategyWriter& writer) {
  const NormOperands of(writer);
  const std::size_t rank = writer.operand(kInput).shapes[0]->rank();
  const std::size_t own_rank = writer.operand(of.weight).shapes[0]->rank();
  const auto add = [&](const DimSpecs& data) {
    const std::uint8_t axes = data.used_axes();
    writer.begin();
    if (!writer.place(kInput, data) || !writer.place(of.output, data) ||
        !writer.place(of.weight, DimSpecs(own_rank)) || !writer.place(of.bias, DimSpecs(own_rank)))
      return;
    StrategyName name;
    name.form = axes == 0 ? StrategyName::Form::kNoSplitNorm : StrategyName::Form::kLayerNorm;
    Strategy* strategy = writer.finish(name);
    if (strategy == nullptr) return;
    if (axes != 0) {
      for (const std::size_t parameter : {of.weight, of.bias})
        writer.all_reduce_backward(*strategy, parameter, axes, writer.local_elements(parameter));
    }
    cost_of_layer_norm(writer, *strategy);
  };
  const MeshAxes axes(writer.mesh());
  const std::size_t batch = rank - own_rank;
  for (const std::uint8_t a : axes.singles)
    place_single(rank, batch, a, add);
  place_double(rank, batch, axes, add);
  add(DimSpecs(rank));
}

}  // namespace shardwright::operators::generators
