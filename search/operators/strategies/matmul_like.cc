// Products of two matrices, of a matrix and a vector, and of two vectors.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

using Form = StrategyName::Form;

// Source: LinearProjectionStrategyGenerator.collate_strategies, ColossalAI
// node_handler/strategy/matmul_strategy_generator.py.
ProductAxesList linear_axes(const MeshAxes& axes, SolverPreference preference) {
  ProductAxesList list;
  list.reserve(16);
  if (preference != SolverPreference::kTensorParallel) list.push_back({axes.all, 0, 0});
  if (preference != SolverPreference::kDataParallel) {
    list.push_back({0, axes.all, 0});
    list.push_back({0, 0, axes.all});
    for (const auto& [a, b] : axes.pairs)
      list.push_back({0, a, b});
    for (const std::uint8_t a : axes.singles)
      list.push_back({0, a, 0});
    for (const std::uint8_t a : axes.singles)
      list.push_back({0, 0, a});
  }
  if (preference == SolverPreference::kStandard) {
    for (const auto& [a, b] : axes.pairs)
      list.push_back({a, 0, b});
    for (const auto& [a, b] : axes.pairs)
      list.push_back({a, b, 0});
    list.push_back({});
  }
  return list;
}

void communicate(StrategyWriter& writer, Strategy& strategy, const ProductAxes& axes) {
  if (axes.column != 0) {
    writer.all_reduce_backward(strategy, kInput, axes.column, writer.local_elements(kInput));
    // Gradients of the input are summed before the operator, even if the input is a parameter.
    strategy.actions[strategy.num_actions - 1U].place = CommPlace::kBefore;
  }
  if (axes.row != 0)
    writer.all_reduce_backward(strategy, kOther, axes.row, writer.local_elements(kOther));
  if (axes.contracted != 0) {
    const std::size_t output = writer.output();
    writer.all_reduce_forward(strategy, output, axes.contracted, writer.local_elements(output));
  }
}

// Returns the multiplications of the product on one device: elements of the input * columns.
double local_multiplications(const StrategyWriter& writer) {
  const LocalShape output(writer.mesh(), writer.placed(writer.output()));
  return writer.local_elements(kInput) * output.back(1);
}

// Source: MatMulStrategyGenerator.update_memory_cost, ColossalAI
// node_handler/strategy/matmul_strategy_generator.py.
PhaseMemory generator_memory(const StrategyWriter& writer) {
  const std::int64_t operands = writer.local_bytes(kInput) + writer.local_bytes(kOther);
  return phases({operands + writer.local_bytes(writer.output()), 0, 0, 0}, {operands, 0, 0, 0});
}

// Source: matmul_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/linear.py.
PhaseMemory measured_memory(const StrategyWriter& writer, std::int64_t backward_temporary) {
  return phases({writer.local_float_bytes(writer.output()), 0, 0, 0},
                {writer.local_float_bytes(kInput) + writer.local_float_bytes(kOther), 0,
                 backward_temporary, 0});
}

bool measured(const GeneratorInput& input) { return input.node.call != OpCall::kMethod; }

void generate_dot(const GeneratorInput& input, StrategyWriter& writer) {
  const auto add = [&](std::uint8_t axes) {
    writer.begin();
    if (!writer.place(kInput, DimSpecs(1).with(0, dim(axes))) ||
        !writer.place(kOther, DimSpecs(1).with(0, dim(axes))) ||
        !writer.place(writer.output(), DimSpecs(0)))
      return;
    const ProductAxes product{0, axes, 0};
    Strategy* strategy = writer.finish(product.name(Form::kDot));
    if (strategy == nullptr) return;
    communicate(writer, *strategy, product);
    const double elements = writer.local_elements(kInput);
    if (measured(input)) {
      // ColossalAI counts no multiplications in the backward pass, as the output is a scalar.
      strategy->compute = phases(elements, 0);
      strategy->memory = measured_memory(writer, 0);
    } else {
      strategy->compute = phases(elements, 2 * elements);
      strategy->memory = generator_memory(writer);
    }
  };
  const MeshAxes axes(writer.mesh());
  add(0);
  for (const std::uint8_t axis : axes.singles)
    add(axis);
}

void generate_matrix_vector(const GeneratorInput& input, StrategyWriter& writer) {
  const auto add = [&](std::uint8_t axes) {
    writer.begin();
    if (!writer.place(kInput, DimSpecs(2).with(0, dim(axes))) ||
        !writer.place(kOther, DimSpecs(1)) ||
        !writer.place(writer.output(), DimSpecs(1).with(0, dim(axes))))
      return;
    const ProductAxes product{axes, 0, 0};
    Strategy* strategy = writer.finish(product.name(Form::kMatrixVector));
    if (strategy == nullptr) return;
    if (axes != 0) {
      writer.all_reduce_backward(*strategy, kOther, axes, writer.local_elements(kOther));
      strategy->actions[0].place = CommPlace::kBefore;  // matmul takes parameters as arguments
    }
    const double matrix = writer.local_elements(kInput);
    const double rows = writer.local_elements(writer.output());
    if (measured(input)) {
      strategy->compute = phases(matrix, rows + matrix);
      strategy->memory = measured_memory(writer, 0);
    } else {
      strategy->compute = phases(rows, 2 * rows);
      strategy->memory = generator_memory(writer);
    }
  };
  const MeshAxes axes(writer.mesh());
  add(0);
  for (const std::uint8_t axis : axes.singles)
    add(axis);
}

void cost_of_matrix_product(const GeneratorInput& input, const StrategyWriter& writer,
                            Strategy& strategy) {
  const double multiplications = local_multiplications(writer);
  if (!measured(input)) {
    // As ColossalAI does, sets the forward cost to the backward cost, but not in the total. Source:
    // LinearProjectionStrategyGenerator.update_compute_cost.
    strategy.compute = {2 * multiplications, 2 * multiplications,
                        multiplications + 2 * multiplications};
    strategy.memory = generator_memory(writer);
    return;
  }
  if (writer.operand(kInput).shapes[0]->rank() == 1) {
    strategy.compute =
        phases(multiplications, writer.local_elements(writer.output()) + multiplications);
    strategy.memory = measured_memory(writer, writer.local_float_bytes(kOther));
    return;
  }
  strategy.compute = phases(multiplications, 2 * multiplications);
  strategy.memory = measured_memory(writer, 0);
}

// A vector input counts as a matrix of one row. Only an axis of size 1 can split this row.
bool place_matrix_product(StrategyWriter& writer, const ProductAxes& axes) {
  const DimSpecs other = DimSpecs(2).with(0, dim(axes.contracted)).with(1, dim(axes.column));
  if (!writer.place(kOther, other)) return false;
  if (writer.operand(kInput).shapes[0]->rank() == 2) {
    return writer.place(kInput, DimSpecs(2).with(0, dim(axes.row)).with(1, dim(axes.contracted))) &&
           writer.place(writer.output(),
                        DimSpecs(2).with(0, dim(axes.row)).with(1, dim(axes.column)));
  }
  if (writer.mesh().devices_along(axes.row) != 1) return false;
  const std::uint8_t output = axes.column != 0 ? axes.column : axes.row;
  return writer.place(kInput, DimSpecs(1).with(0, dim(axes.contracted))) &&
         writer.place(writer.output(), DimSpecs(1).with(0, dim(output)));
}

void generate_matrix_product(const GeneratorInput& input, StrategyWriter& writer) {
  const MeshAxes axes(writer.mesh());
  for (const ProductAxes& product : linear_axes(axes, input.options.solver_preference)) {
    writer.begin();
    if (!place_matrix_product(writer, product)) continue;
    Strategy* strategy = writer.finish(product.name(Form::kMatmul));
    if (strategy == nullptr) continue;
    communicate(writer, *strategy, product);
    for (CommAction& action : strategy->actions) {
      if (action.place == CommPlace::kHook) action.place = CommPlace::kBefore;
    }
    cost_of_matrix_product(input, writer, *strategy);
  }
}

// Source: linear_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/linear.py.
void cost_of_linear(const StrategyWriter& writer, Strategy& strategy) {
  const double multiplications = local_multiplications(writer);
  strategy.compute = phases(multiplications, 2 * multiplications);
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t weight = writer.local_float_bytes(kOther);
  const std::int64_t out = writer.local_float_bytes(writer.output());
  strategy.memory = phases({in + out, weight, 0, 0}, {in + weight, weight, 0, 0});
}

}  // namespace

void generate_linear(const GeneratorInput& input, StrategyWriter& writer) {
  const std::size_t rank = writer.operand(kInput).shapes[0]->rank();
  const auto add = [&](const ProductAxes& axes, std::size_t row_dim, std::int32_t suffix) {
    DimSpecs in = DimSpecs(rank).with(rank - 1, dim(axes.contracted));
    DimSpecs out = DimSpecs(rank).with(rank - 1, dim(axes.column));
    if (axes.row != 0) {
      in = in.with(row_dim, dim(axes.row));
      out = out.with(row_dim, dim(axes.row));
    }
    writer.begin();
    // The weight is stored transposed: [columns, contracted].
    if (!writer.place(kInput, in) || !writer.place(writer.output(), out) ||
        !writer.place(kOther, DimSpecs(2).with(0, dim(axes.column)).with(1, dim(axes.contracted))))
      return;
    Strategy* strategy = writer.finish(axes.name(Form::kMatmul, suffix));
    if (strategy == nullptr) return;
    communicate(writer, *strategy, axes);
    cost_of_linear(writer, *strategy);
  };
  const MeshAxes mesh_axes(writer.mesh());
  for (const ProductAxes& axes : linear_axes(mesh_axes, input.options.solver_preference)) {
    if (axes.row == 0) {
      add(axes, 0, -1);
      continue;
    }
    // The rows are all leading dimensions together. Any one of these dimensions may be split.
    for (std::size_t d = 0; d + 1 < rank; ++d)
      add(axes, d, static_cast<std::int32_t>(d));
  }
}

void generate_matmul(const GeneratorInput& input, StrategyWriter& writer) {
  const std::size_t in = writer.operand(kInput).shapes[0]->rank();
  const std::size_t other = writer.operand(kOther).shapes[0]->rank();
  if (in > 2 || other > 2) return generate_batched_matmul(input, writer);
  if (other == 2) return generate_matrix_product(input, writer);
  return in == 1 ? generate_dot(input, writer) : generate_matrix_vector(input, writer);
}

}  // namespace shardwright::operators::generators
