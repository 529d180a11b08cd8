#include "search/operators/strategies/strategy.h"

#include <span>
#include <string>
#include <utility>

#include "core/check.h"

namespace shardwright::operators {
namespace {

using Form = StrategyName::Form;

void append_axes(std::string& text, std::uint8_t axes) {
  for (int axis = 0; axis < 8; ++axis) {
    if (((axes >> axis) & 1) != 0) text += static_cast<char>('0' + axis);
  }
}

// "R" or "S01".
void append_dim(std::string& text, std::uint8_t axes) {
  text += axes == 0 ? 'R' : 'S';
  append_axes(text, axes);
}

// "[S0, R]".
void append_sequence(std::string& text, const ShardingSpec& spec) {
  text += '[';
  for (std::size_t dim = 0; dim < spec.dims.rank(); ++dim) {
    if (dim > 0) text += ", ";
    append_dim(text, spec.dims[dim].axes);
  }
  text += ']';
}

// "([S0, R], [R], )".
void append_tuple(std::string& text, std::span<const ShardingSpec* const> elements) {
  text += '(';
  for (const ShardingSpec* element : elements) {
    append_sequence(text, *element);
    text += ", ";
  }
  text += ')';
}

void append_product(std::string& text, const StrategyName& name) {
  const bool dot = name.form == Form::kDot;
  const bool lookup = name.form == Form::kEmbedding;
  const bool norm = name.form == Form::kBatchNorm || name.form == Form::kNoSplitNorm;
  const bool vector = name.form == Form::kMatrixVector;
  const auto dims = [&text](std::initializer_list<std::uint8_t> axes) {
    for (const std::uint8_t dim : axes)
      append_dim(text, dim);
  };
  if (dot) {
    text += "R = ";
    dims({name.contracted});
    text += " dot ";
    dims({name.contracted});
    return;
  }
  // The name of a matrix-vector product has no columns unless its row dimension is sharded. Then
  // the name has the form of a product of matrices.
  const bool plain_vector = vector && name.row == 0;
  dims({name.row});
  if (!plain_vector) dims({name.column});
  text += " = ";
  dims({name.row});
  if (norm) dims({name.column});
  if (!norm && !lookup && !plain_vector) dims({name.contracted});
  text += " x ";
  if (norm || vector) {
    dims({name.column});
  } else {
    dims({name.contracted, name.column});
  }
  if (norm && name.row != 0) text += " WITH SYNC_BN";
}

void append_batched_product(std::string& text, const StrategyName& name) {
  const auto side = [&](const char* inner, std::uint8_t axes) {
    text += "Sb";
    append_axes(text, name.row);
    text += inner;
    if (axes != 0) append_axes(text, axes);
  };
  const std::uint8_t i = name.inner_row;
  const std::uint8_t j = name.column;
  const std::uint8_t k = name.contracted;
  side(i != 0 ? "Si" : j != 0 ? "Sj" : k != 0 ? "R" : "", static_cast<std::uint8_t>(i | j));
  text += " = ";
  side(i != 0 ? "Si" : j != 0 ? "R" : k != 0 ? "Sk" : "", static_cast<std::uint8_t>(i | k));
  text += " x ";
  side(j != 0 ? "Sj" : k != 0 ? "Sk" : "", static_cast<std::uint8_t>(j | k));
}

const char* role_of(OpKind kind) {
  switch (kind) {
    case OpKind::kPlaceholder:
      return "Placeholder";
    case OpKind::kOutput:
      return "Output";
    default:
      return "Tensor Constructor";
  }
}

}  // namespace

NodeStrategies::NodeStrategies(const OpGraph& graph, std::uint32_t index, SpecTable& table)
    : kind_(graph[index].kind) {
  const OpNode& node = graph[index];
  const auto add = [&](const std::string& name, OperandType type, ElementType element,
                       std::span<const Extents> shapes, bool tuple, std::uint32_t producer) {
    Operand& operand = operands_.emplace_back();
    operand.name = name;
    operand.type = type;
    operand.tuple = tuple;
    operand.element_bytes = element_bytes(element);
    operand.producer = producer;
    operand.first = static_cast<std::uint32_t>(width_);
    operand.shapes.reserve(shapes.size());
    for (const Extents& shape : shapes)
      operand.shapes.push_back(table.shape(shape));
    width_ += shapes.size();
  };
  operands_.reserve(node.inputs.size() + node.params.size() + 1);
  for (const std::uint32_t input : node.inputs) {
    const OpNode& from = graph[input];
    add(from.name, from.is_param ? OperandType::kParameter : OperandType::kArgument, from.type,
        from.shapes, from.tuple, input);
  }
  for (const OpParam& param : node.params) {
    add(param.name, param.buffer ? OperandType::kBuffer : OperandType::kParameter, param.type,
        {&param.shape, 1}, false, Operand::kNoProducer);
  }
  add(node.name, OperandType::kOutput, node.type, node.shapes, node.tuple, Operand::kNoProducer);
}

std::string NodeStrategies::name(std::size_t s) const {
  const StrategyName& name = strategies_[s].name;
  std::string text;
  const auto sequence = [&](std::size_t operand) { append_sequence(text, *spec(s, operand)); };
  const std::size_t out = operands_.size() - 1;
  switch (name.form) {
    case Form::kMatmul:
    case Form::kEmbedding:
    case Form::kBatchNorm:
    case Form::kMatrixVector:
    case Form::kDot:
    case Form::kNoSplitNorm:
      append_product(text, name);
      break;
    case Form::kBatchedMatmul:
      append_batched_product(text, name);
      break;
    case Form::kLayerNorm:
      sequence(out), text += " = ", sequence(0), text += " x ", sequence(1);
      break;
    case Form::kPool:
      sequence(out), text += " = ", sequence(0);
      break;
    case Form::kBinary:
      sequence(out), text += " = ", sequence(out), text += " <binary-elementwise-op> ";
      sequence(out);
      break;
    case Form::kWhere:
      sequence(out), text += " = ", sequence(0), text += " x ", sequence(1), text += " x ";
      sequence(2);
      break;
    case Form::kGetAttr:
      text += "get_attr ", sequence(out);
      break;
    case Form::kFollow:
      sequence(0), text += " -> ", sequence(out);
      break;
    case Form::kFullyReplicated:
      sequence(0), text += " -> FULLY REPLICATED";
      break;
    case Form::kSplit:
      sequence(0);
      break;
    case Form::kGetitem:
      sequence(out), text += " = ", sequence(0);
      break;
    case Form::kGetElement:
      sequence(out), text += " = get the " + std::to_string(name.element) + " element from ";
      append_tuple(text, input_specs(s, 0));
      break;
    case Form::kReplica:
      text = std::string("Replica ") + role_of(kind_);
      break;
    case Form::kDistributed:
      text = std::string("Distributed ") + role_of(kind_);
      break;
  }
  if (name.suffix >= 0) text += '_' + std::to_string(name.suffix);
  return text;
}

}  // namespace shardwright::operators
