// Operators that take any placement: pooling, binary and ternary elementwise, attributes.
#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

using Form = StrategyName::Form;

std::size_t rank_of(const StrategyWriter& writer, std::size_t operand) {
  return writer.operand(operand).shapes[0]->rank();
}

StrategyName form(Form which) {
  StrategyName name;
  name.form = which;
  return name;
}

// Visits placements of two axes, then of one axis. Source: enumerate_all_possible_output,
// ColossalAI node_handler/strategy/binary_elementwise_generator.py.
template <class Visit>
void doubles_first(const StrategyWriter& writer, std::size_t rank, Visit&& visit) {
  const MeshAxes axes(writer.mesh());
  place_double(rank, rank, axes, visit);
  for (const std::uint8_t a : axes.singles)
    place_single(rank, rank, a, visit);
  visit(DimSpecs(rank));
}

// Visits placements of one axis, then of two axes, on the first `count` dimensions. Source:
// enumerate_all_possible_output_spec, ColossalAI node_handler/strategy/where_generator.py.
template <class Visit>
void singles_first(const StrategyWriter& writer, std::size_t rank, std::size_t count,
                   Visit&& visit) {
  const MeshAxes axes(writer.mesh());
  for (const std::uint8_t a : axes.singles)
    place_single(rank, count, a, visit);
  place_double(rank, count, axes, visit);
  visit(DimSpecs(rank));
}

// Source: maxpool_meta_info, ColossalAI auto_parallel/meta_profiler/meta_registry/pooling.py. The
// positions of the maxima are kept as integers of eight bytes, twice the bytes of the output.
void cost_of_pooling(const StrategyWriter& writer, Strategy& strategy) {
  const std::size_t output = writer.output();
  const std::int64_t in = writer.local_float_bytes(0);
  const std::int64_t out = writer.local_float_bytes(output);
  const std::int64_t positions = 2 * out;
  strategy.compute = phases(writer.local_elements(0), writer.local_elements(0));
  strategy.memory = phases({in + out + positions, 0, 0, 0}, {in - positions, 0, positions, 0});
}

// ColossalAI has no measured costs of average pooling. Source:
// NormalPoolStrategyGenerator.update_compute_cost, ColossalAI
// node_handler/strategy/normal_pooling_generator.py.
void cost_of_average(const OpNode& node, const StrategyWriter& writer, Strategy& strategy) {
  double window = 1;
  for (const std::int64_t extent : node.attrs.kernel_size)
    window *= static_cast<double>(extent);
  const std::size_t output = writer.output();
  strategy.compute =
      phases(writer.local_elements(output) * window, writer.local_elements(0) * window);
  strategy.memory = follow_memory(writer.local_bytes(0), writer.local_bytes(output), false);
}

// Counts one operation per element of the first tensor. Source: binary_elementwise_meta_info,
// ColossalAI auto_parallel/meta_profiler/meta_registry/binary_elementwise_ops.py.
void cost_of_binary(const StrategyWriter& writer, Strategy& strategy) {
  const double operations = rank_of(writer, 0) == 0 ? 0 : writer.local_elements(0);
  strategy.compute = phases(operations, 2 * operations);
  std::int64_t inputs = 0;
  std::int64_t parameters = 0;
  for (std::size_t i = 0; i < writer.output(); ++i) {
    inputs += writer.local_float_bytes(i);
    if (writer.operand(i).type == OperandType::kParameter)
      parameters += writer.local_float_bytes(i);
  }
  strategy.memory = phases({writer.local_float_bytes(writer.output()), parameters, 0, 0},
                           {inputs, parameters, 0, 0});
}

// Places inputs to match the output. Sets removed[i] to the axes along which input i is repeated.
bool place_broadcast(StrategyWriter& writer, const DimSpecs& out, std::span<std::uint8_t> removed) {
  const std::size_t output = writer.output();
  if (!writer.place(output, out)) return false;
  for (std::size_t i = 0; i < output; ++i) {
    removed[i] = 0;
    const DimSpecs dims = unbroadcast(out, writer.operand(output).shapes[0]->dims,
                                      writer.operand(i).shapes[0]->dims, removed[i]);
    if (!writer.place(i, dims)) return false;
  }
  return true;
}

}  // namespace

void generate_pooling(const GeneratorInput& input, StrategyWriter& writer) {
  singles_first(writer, rank_of(writer, 0), 2, [&](const DimSpecs& dims) {
    writer.begin();
    if (!writer.place(0, dims) || !writer.place(writer.output(), dims)) return;
    Strategy* strategy = writer.finish(form(Form::kPool));
    if (strategy == nullptr) return;
    if (is_average_pooling(input.node.kind)) {
      cost_of_average(input.node, writer, *strategy);
    } else {
      cost_of_pooling(writer, *strategy);
    }
  });
}

// Lists the communication of broadcast operands without its cost, as ColossalAI does: it adds this
// communication after it has added up the costs.
void generate_binary_elementwise(const GeneratorInput&, StrategyWriter& writer) {
  doubles_first(writer, rank_of(writer, writer.output()), [&](const DimSpecs& out) {
    std::array<std::uint8_t, 2> removed{};
    writer.begin();
    if (!place_broadcast(writer, out, removed)) return;
    Strategy* strategy = writer.finish(form(Form::kBinary));
    if (strategy == nullptr) return;
    for (std::size_t i = 0; i < writer.output(); ++i) {
      if (removed[i] != 0) writer.note_all_reduce_backward(*strategy, i, removed[i]);
    }
    cost_of_binary(writer, *strategy);
  });
}

// Every input counts as large as the output. Source: WhereGenerator.update_memory_cost.
void generate_where(const GeneratorInput&, StrategyWriter& writer) {
  const std::size_t output = writer.output();
  const std::size_t rank = rank_of(writer, output);
  singles_first(writer, rank, rank, [&](const DimSpecs& out) {
    std::array<std::uint8_t, 3> removed{};
    writer.begin();
    if (!place_broadcast(writer, out, removed)) return;
    Strategy* strategy = writer.finish(form(Form::kWhere));
    if (strategy == nullptr) return;
    strategy->compute = kNominalCompute;
    std::int64_t inputs = 0;
    for (std::size_t i = 0; i < output; ++i)
      inputs += writer.placed(output).local_elements * writer.operand(i).element_bytes;
    strategy->memory = phases({inputs + writer.local_bytes(output), 0, 0, 0}, {inputs, 0, 0, 0});
  });
}

void generate_get_attr(const GeneratorInput&, StrategyWriter& writer) {
  doubles_first(writer, rank_of(writer, 0), [&](const DimSpecs& out) {
    writer.begin();
    if (!writer.place(0, out)) return;
    Strategy* strategy = writer.finish(form(Form::kGetAttr));
    if (strategy == nullptr) return;
    strategy->compute = kNominalCompute;
    strategy->memory = phases({writer.local_bytes(0), 0, 0, 0}, {});
  });
}

}  // namespace shardwright::operators::generators
