// Products of batches of matrices: bmm, and matmul with an operand of three dimensions or more.
#include <algorithm>

#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

// The axes of the batch, the rows, the columns and the contracted dimension.
struct BatchedAxes {
  std::uint8_t batch = 0;
  std::uint8_t row = 0;
  std::uint8_t column = 0;
  std::uint8_t contracted = 0;

  StrategyName name(std::int32_t suffix) const {
    return {StrategyName::Form::kBatchedMatmul, batch, contracted, column, row, suffix, 0};
  }
};

// If both axes of a two-axis mesh have several devices, all combinations are generated. Any other
// mesh splits only the batch. If an axis of a two-axis mesh has size 1, ColossalAI splits along
// this axis, so nothing is split. Source: BatchedMatMulStrategyGenerator.collate_strategies,
// ColossalAI node_handler/strategy/matmul_strategy_generator.py.
std::vector<BatchedAxes> batched_axes(const DeviceMesh& mesh) {
  const MeshAxes axes(mesh);
  if (axes.singles.size() == 1) return {{axes.all, 0, 0, 0}};
  if (mesh.size(0) == 1) return {{axes.singles[0], 0, 0, 0}};
  if (mesh.size(1) == 1) return {{axes.singles[1], 0, 0, 0}};
  std::vector<BatchedAxes> list;
  list.reserve(7);
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, b, 0, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, 0, b, 0});
  for (const auto& [a, b] : axes.pairs)
    list.push_back({a, 0, 0, b});
  list.push_back({axes.all, 0, 0, 0});
  return list;
}

// The product after vectors are padded to matrices and batch dimensions are broadcast.
struct Batched {
  Extents input, other;  // padded
  bool padded_input = false;
  bool padded_other = false;
  Extents batch;  // batch dimensions of the result
  double matrices = 1;
  double rows = 0, contracted = 0, columns = 0;

  Batched(const Extents& a, const Extents& b) : input(a), other(b) {
    padded_input = input.size() == 1;
    padded_other = !padded_input && other.size() == 1;
    if (padded_input) input.insert(input.begin(), 1);
    if (padded_other) other.push_back(1);
    batch = *broadcast({input.begin(), input.end() - 2}, {other.begin(), other.end() - 2});
    for (const std::int64_t extent : batch)
      matrices *= static_cast<double>(extent);
    rows = static_cast<double>(input[input.size() - 2]);
    contracted = static_cast<double>(input.back());
    columns = static_cast<double>(other.back());
  }

  bool divisible(const DeviceMesh& mesh, const BatchedAxes& axes) const {
    const auto divides = [&mesh](std::int64_t extent, std::uint8_t set) {
      return extent % mesh.devices_along(set) == 0;
    };
    return divides(input[input.size() - 2], axes.row) && divides(input.back(), axes.contracted) &&
           divides(other.back(), axes.column);
  }

  // Returns an operand's placement, given the axes that shard it in the broadcast product.
  DimSpecs placement(const Extents& padded, std::uint8_t batch_axes, std::size_t at,
                     std::uint8_t first, std::uint8_t second) const {
    Extents logical = batch;
    logical.insert(logical.end(), padded.end() - 2, padded.end());
    const std::size_t n = batch.size();
    const DimSpecs specs =
        DimSpecs(n + 2).with(at, dim(batch_axes)).with(n, dim(first)).with(n + 1, dim(second));
    std::uint8_t removed = 0;
    return unbroadcast(specs, logical, padded, removed);
  }
};

DimSpecs without_dim(const DimSpecs& dims, std::size_t drop) {
  DimSpecs result(dims.rank() - 1);
  for (std::size_t d = 0; d < result.rank(); ++d)
    result = result.with(d, dims[d < drop ? d : d + 1]);
  return result;
}

bool place(StrategyWriter& writer, const Batched& product, const BatchedAxes& axes,
           std::size_t at) {
  DimSpecs input = product.placement(product.input, axes.batch, at, axes.row, axes.contracted);
  DimSpecs other = product.placement(product.other, axes.batch, at, axes.contracted, axes.column);
  const std::size_t n = product.batch.size();
  DimSpecs output = DimSpecs(n + 2)
                        .with(at, dim(axes.batch))
                        .with(n, dim(axes.row))
                        .with(n + 1, dim(axes.column));
  if (product.padded_input) {
    input = without_dim(input, input.rank() - 2);
    output = without_dim(output, n);
  }
  if (product.padded_other) {
    other = without_dim(other, other.rank() - 1);
    output = without_dim(output, n + 1);
  }
  return writer.place(kInput, input) && writer.place(kOther, other) &&
         writer.place(writer.output(), output);
}

// The elements of the broadcast operands on one device.
struct LocalSizes {
  double input, other, output;

  LocalSizes(const DeviceMesh& mesh, const Batched& product, const BatchedAxes& axes) {
    const auto share = [&mesh](double extent, std::uint8_t set) {
      return extent / mesh.devices_along(set);
    };
    const double matrices = share(product.matrices, axes.batch);
    const double rows = share(product.rows, axes.row);
    const double contracted = share(product.contracted, axes.contracted);
    const double columns = share(product.columns, axes.column);
    input = matrices * rows * contracted;
    other = matrices * contracted * columns;
    output = matrices * rows * columns;
  }
};

void communicate(const StrategyWriter& writer, Strategy& strategy, const BatchedAxes& axes,
                 const LocalSizes& sizes) {
  if (axes.column != 0) writer.all_reduce_backward(strategy, kInput, axes.column, sizes.input);
  if (axes.row != 0) writer.all_reduce_backward(strategy, kOther, axes.row, sizes.other);
  if (axes.contracted != 0)
    writer.all_reduce_forward(strategy, writer.output(), axes.contracted, sizes.output);
  // Operands that are parameters are arguments here, so their gradients have no hooks.
  for (CommAction& action : strategy.actions) {
    if (action.place == CommPlace::kHook) action.place = CommPlace::kBefore;
  }
}

// Source: BatchedMatMulStrategyGenerator.update_compute_cost, which takes the sizes of whole
// tensors, not of their parts on a device, and MatMulStrategyGenerator.update_memory_cost.
void generator_costs(const StrategyWriter& writer, const Batched& product, const LocalSizes& sizes,
                     Strategy& strategy) {
  const Operand& output = writer.operand(writer.output());
  double forward = product.contracted;
  for (const std::int64_t extent : output.shapes[0]->dims)
    forward *= static_cast<double>(extent);
  strategy.compute = phases(forward, 2 * forward);
  const auto bytes = [&](double elements, std::size_t operand) {
    return static_cast<std::int64_t>(elements) * writer.operand(operand).element_bytes;
  };
  const std::int64_t operands = bytes(sizes.input, kInput) + bytes(sizes.other, kOther);
  strategy.memory =
      phases({operands + bytes(sizes.output, writer.output()), 0, 0, 0}, {operands, 0, 0, 0});
}

bool same_batch(const LocalShape& a, const LocalShape& b) {
  if (a.rank() != b.rank()) return false;
  for (std::size_t d = 0; d + 2 < a.rank(); ++d) {
    if (a[d] != b[d]) return false;
  }
  return true;
}

// ColossalAI's measured costs depend on the number of dimensions of the operands. Source:
// matmul_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/linear.py.
void measured_costs(const StrategyWriter& writer, Strategy& strategy) {
  const LocalShape a(writer.mesh(), writer.placed(kInput));
  const LocalShape b(writer.mesh(), writer.placed(kOther));
  const LocalShape c(writer.mesh(), writer.placed(writer.output()));
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t other = writer.local_float_bytes(kOther);
  const std::int64_t out = writer.local_float_bytes(writer.output());
  MemoryCost forward{out, 0, 0, 0};
  MemoryCost backward{in + other, 0, 0, 0};
  if (b.rank() == 1) {
    strategy.compute = phases(a.product(), c.product() + a.product());
  } else if (a.rank() == 1) {
    strategy.compute = phases(b.product(), c.product() + b.product());
    forward = {out + other, 0, 0, 0};
    backward = {in, 0, other, 0};
  } else if (b.rank() == 2) {
    strategy.compute = phases(a.product() * b.back(1), 2 * (a.product() * b.back(1)));
  } else if (a.rank() == 2) {
    strategy.compute = phases(b.product() * a.back(2), 2 * (b.product() * a.back(2)));
    forward = {out + other, 0, out, 0};
    backward = {in, 0, other + out, 0};
  } else {
    const double matrices = c.product(0, c.rank() - 2);
    const double extended_in = matrices * a.back(2) * a.back(1);
    const double extended_other = matrices * b.back(2) * b.back(1);
    const double multiplications = extended_in * b.back(1);
    strategy.compute = phases(multiplications, 2 * multiplications);
    if (!same_batch(a, b)) {
      // Both operands are repeated for all matrices of the batch.
      const std::int64_t extended = static_cast<std::int64_t>(extended_in + extended_other) * 4;
      forward = {out + extended, 0, 0, 0};
      backward = {in + other - extended, 0, extended, 0};
    }
  }
  strategy.memory = phases(forward, backward);
}

}  // namespace

// If several batch dimensions could be split, ColossalAI keeps only the last of them. Its name has
// the number of these dimensions minus 1. Source: MatMulHandler.post_process, ColossalAI
// node_handler/matmul_handler.py.
void generate_batched_matmul(const GeneratorInput& input, StrategyWriter& writer) {
  const Batched product(writer.operand(kInput).shapes[0]->dims,
                        writer.operand(kOther).shapes[0]->dims);
  const bool is_bmm = input.node.kind == OpKind::kBmm;
  for (const BatchedAxes& axes : batched_axes(writer.mesh())) {
    if (!product.divisible(writer.mesh(), axes)) continue;
    std::int32_t candidates = 0;
    std::size_t last = 0;
    for (std::size_t at = 0; at < product.batch.size(); ++at) {
      if (product.batch[at] % writer.mesh().devices_along(axes.batch) != 0) continue;
      ++candidates;
      last = at;
    }
    if (candidates == 0) continue;
    writer.begin();
    if (!place(writer, product, axes, last)) continue;
    Strategy* strategy = writer.finish(axes.name(is_bmm ? -1 : candidates - 1));
    if (strategy == nullptr) continue;
    const LocalSizes sizes(writer.mesh(), product, axes);
    communicate(writer, *strategy, axes, sizes);
    if (is_bmm || input.node.call == OpCall::kMethod) {
      generator_costs(writer, product, sizes, *strategy);
    } else {
      measured_costs(writer, *strategy);
    }
  }
}

}  // namespace shardwright::operators::generators
