#include "tests/support/operators/aten_builder.h"

#include <algorithm>
#include <utility>

namespace shardwright::test_support {

using namespace operators;
using redistribution::AxisPlacement;
using redistribution::ReduceOp;

AtenTensor AtenBuilder::tensor(std::vector<std::int64_t> shape, AtenType type) {
  AtenTensor tensor;
  tensor.type = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.stride.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    tensor.stride[dim] = stride;
    stride *= shape[dim];
  }
  return tensor;
}

MaybeAxisPlacement AtenBuilder::word(const std::string& text) {
  if (text == "-") return std::nullopt;
  if (text == "R") return AxisPlacement::replicate();
  if (text == "P") return AxisPlacement::partial(ReduceOp::kSum);
  if (text == "Pavg") return AxisPlacement::partial(ReduceOp::kAvg);
  if (text == "Pmax") return AxisPlacement::partial(ReduceOp::kMax);
  if (text == "Pmin") return AxisPlacement::partial(ReduceOp::kMin);
  return AxisPlacement::shard(static_cast<std::size_t>(text[1] - '0'));
}

std::uint32_t AtenBuilder::rule(const std::vector<Entry>& entries) {
  AxisRule rule;
  for (const Entry& given : entries) {
    AxisEntry& entry = rule.entries.emplace_back();
    for (const std::string& each : given.outputs)
      entry.outputs.push_back(word(each));
    for (const std::string& each : given.inputs)
      entry.inputs.push_back(word(each));
    entry.divides = given.divides;
  }
  // Equal rules are shared, as in traced graphs, so that repeated blocks compare equal.
  const auto at = std::find_if(spec.rules.begin(), spec.rules.end(), [&](const AxisRule& known) {
    return known.entries == rule.entries;
  });
  if (at != spec.rules.end()) return static_cast<std::uint32_t>(at - spec.rules.begin());
  spec.rules.push_back(std::move(rule));
  return static_cast<std::uint32_t>(spec.rules.size() - 1);
}

std::uint32_t AtenBuilder::node(const std::string& op, std::vector<std::uint32_t> inputs,
                                std::vector<std::int64_t> shape,
                                const std::vector<Entry>& entries) {
  AtenNode node;
  node.name = op + std::to_string(spec.nodes.size());
  node.op = op;
  node.rule = rule(entries);
  for (const std::uint32_t input : inputs)
    node.inputs.push_back({input, 0});
  node.outputs.emplace_back(tensor(std::move(shape)));
  spec.nodes.push_back(std::move(node));
  return static_cast<std::uint32_t>(spec.nodes.size() - 1);
}

std::uint32_t AtenBuilder::placeholder(AtenRole role, const std::string& target,
                                       std::vector<std::int64_t> shape) {
  std::vector<Entry> entries{{{"R"}, {}}};
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    entries.push_back({{"S" + std::to_string(dim)}, {}});
  const std::uint32_t index = node("placeholder", {}, std::move(shape), entries);
  last().role = role;
  last().target = target;
  return index;
}

void AtenBuilder::output(std::uint32_t node, AtenOutputRole role, const std::string& target) {
  spec.outputs.push_back({{node, 0}, role, target});
}

std::uint32_t AtenBuilder::mm(std::uint32_t a, std::uint32_t b) {
  const std::int64_t m = spec.nodes[a].outputs[0]->shape[0];
  const std::int64_t n = spec.nodes[b].outputs[0]->shape[1];
  const std::uint32_t index = node(
      "aten.mm.default", {a, b}, {m, n},
      {{{"R"}, {"R", "R"}}, {{"S0"}, {"S0", "R"}}, {{"S1"}, {"R", "S1"}}, {{"P"}, {"S1", "S0"}}});
  last().flops.push_back({2, {{false, 0, 0}, {false, 0, 1}, {false, 1, 1}}});
  return index;
}

std::uint32_t AtenBuilder::pointwise(std::vector<std::uint32_t> inputs) {
  const redistribution::Shape& shape = spec.nodes[inputs[0]].outputs[0]->shape;
  std::vector<Entry> entries;
  for (const char* each : {"R", "S0", "S1"})
    entries.push_back({{each}, Words(inputs.size(), each)});
  entries.push_back({{"P"}, Words(inputs.size(), "P")});
  return node("aten.add.Tensor", std::move(inputs), {shape.begin(), shape.end()}, entries);
}

std::uint32_t AtenBuilder::transpose(std::uint32_t matrix) {
  const redistribution::Shape& shape = spec.nodes[matrix].outputs[0]->shape;
  const std::uint32_t index =
      node("aten.t.default", {matrix}, {shape[1], shape[0]},
           {{{"R"}, {"R"}}, {{"S1"}, {"S0"}}, {{"S0"}, {"S1"}}, {{"P"}, {"P"}}});
  last().view = true;
  return index;
}

std::uint32_t AtenBuilder::reduce(const std::string& op, const std::string& partial,
                                  std::uint32_t matrix) {
  const std::int64_t rows = spec.nodes[matrix].outputs[0]->shape[0];
  return node(op, {matrix}, {rows, 1},
              {{{"R"}, {"R"}}, {{"S0"}, {"S0"}}, {{partial}, {"S1"}}, {{partial}, {partial}}});
}

std::uint32_t AtenBuilder::subtract_column(std::uint32_t matrix, std::uint32_t column) {
  const redistribution::Shape& shape = spec.nodes[matrix].outputs[0]->shape;
  return node("aten.sub.Tensor", {matrix, column}, {shape.begin(), shape.end()},
              {{{"R"}, {"R", "R"}}, {{"S0"}, {"S0", "S0"}}, {{"S1"}, {"S1", "R"}}});
}

AtenGraphSpec two_layer_training(std::int64_t batch, std::int64_t width) {
  AtenBuilder b;
  const auto w1 = b.placeholder(AtenRole::kParameter, "layers.0.weight", {width, width});
  const auto w2 = b.placeholder(AtenRole::kParameter, "layers.1.weight", {width, width});
  const auto x = b.placeholder(AtenRole::kInput, "x", {batch, width});
  const auto tangent = b.placeholder(AtenRole::kTangent, "0", {batch, width});
  const auto h = b.mm(x, w1);
  b.last().module = "layers.0";
  const auto y = b.mm(h, w2);
  b.last().module = "layers.1";
  b.output(y, AtenOutputRole::kOutput, "0");
  const auto g2 = b.mm(b.transpose(h), tangent);
  b.output(g2, AtenOutputRole::kGradient, "layers.1.weight");
  const auto gh = b.mm(tangent, b.transpose(w2));
  const auto g1 = b.mm(b.transpose(x), gh);
  b.output(g1, AtenOutputRole::kGradient, "layers.0.weight");
  return b.spec;
}

namespace {

// Adds random operators to a graph.
// Thread safety: one thread at a time.
class RandomOperators {
 public:
  RandomOperators(AtenBuilder& builder, Random& random) : b_(builder), random_(random) {}

  void take(std::uint32_t matrix) { made_.push_back(matrix); }

  void add() {
    const std::uint32_t a = made_[random_.below(made_.size())];
    switch (random_.below(6)) {
      case 0:
      case 1:
        return take(product(a));
      case 2:
        return take(sum(a));
      case 3:
        return take(b_.transpose(a));
      case 4:
        return take(b_.pointwise({a}));
      default:
        return normalise(a);
    }
  }

  std::uint32_t last() const { return made_.back(); }
  // Returns the latest matrix of the placeholder's shape, which may be the placeholder.
  std::uint32_t latest_like(std::uint32_t placeholder) const {
    for (std::size_t i = made_.size(); i-- > 0;) {
      if (shape(made_[i]) == shape(placeholder)) return made_[i];
    }
    return placeholder;
  }

 private:
  const redistribution::Shape& shape(std::uint32_t node) const {
    return b_.spec.nodes[node].outputs[0]->shape;
  }

  std::uint32_t product(std::uint32_t a) {
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t other = made_[random_.below(made_.size())];
      if (shape(a)[1] == shape(other)[0]) return b_.mm(a, other);
      if (shape(other)[1] == shape(a)[0]) return b_.mm(other, a);
    }
    return b_.mm(b_.transpose(a), a);
  }

  std::uint32_t sum(std::uint32_t a) {
    const std::uint32_t other = made_[random_.below(made_.size())];
    return shape(other) == shape(a) ? b_.pointwise({a, other}) : b_.pointwise({a});
  }

  // Subtracts a sum or a maximum of each row, as a softmax does.
  void normalise(std::uint32_t a) {
    const bool is_max = random_.below(2) == 0;
    const std::uint32_t column = is_max ? b_.reduce("aten.amax.default", "Pmax", a)
                                        : b_.reduce("aten.sum.dim_IntList", "P", a);
    take(b_.subtract_column(a, column));
  }

  AtenBuilder& b_;
  Random& random_;
  std::vector<std::uint32_t> made_;
};

}  // namespace

AtenGraphSpec random_training_graph(Random& random, std::size_t operators) {
  AtenBuilder b;
  RandomOperators made(b, random);
  const auto extent = [&] { return static_cast<std::int64_t>(2 + random.below(8)); };
  const std::int64_t rows = extent();
  const std::int64_t width = extent();
  std::vector<std::uint32_t> parameters;
  for (std::size_t i = 1 + random.below(3); i > 0; --i) {
    const std::int64_t height = random.below(2) == 0 ? width : extent();
    parameters.push_back(
        b.placeholder(AtenRole::kParameter, "w" + std::to_string(i), {height, width}));
    made.take(parameters.back());
  }
  made.take(b.placeholder(AtenRole::kInput, "x", {rows, width}));
  for (std::size_t i = 0; i < (operators + 1) / 2; ++i)
    made.add();
  b.output(made.last(), AtenOutputRole::kOutput, "0");
  const redistribution::Shape shape = b.last().outputs[0]->shape;
  const std::size_t forward = b.spec.nodes.size();
  made.take(b.placeholder(AtenRole::kTangent, "0", {shape.begin(), shape.end()}));
  for (std::size_t i = 0; i < operators / 2; ++i)
    made.add();
  for (std::size_t n = forward + 1; n < b.spec.nodes.size(); ++n)
    b.spec.nodes[n].backward = true;
  for (const std::uint32_t parameter : parameters) {
    const std::uint32_t gradient = made.latest_like(parameter);
    if (gradient > forward && random.below(4) != 0)
      b.output(gradient, AtenOutputRole::kGradient, b.spec.nodes[parameter].target);
  }
  return b.spec;
}

AtenGraphSpec random_aten_graph(Random& random, std::size_t most_nodes) {
  AtenBuilder b;
  const std::int64_t size = std::int64_t{2} << random.below(3);
  std::vector<std::uint32_t> made{b.placeholder(AtenRole::kInput, "x", {size, size}),
                                  b.placeholder(AtenRole::kParameter, "w", {size, size})};
  const std::size_t count = 1 + random.below(most_nodes);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t a = made[random.below(made.size())];
    const std::uint32_t other = made[random.below(made.size())];
    switch (random.below(4)) {
      case 0:
        made.push_back(b.mm(a, other));
        break;
      case 1:
        made.push_back(b.pointwise({a, other}));
        break;
      case 2:
        made.push_back(b.pointwise({a}));
        break;
      default:
        made.push_back(b.transpose(a));
        break;
    }
  }
  b.output(made.back(), AtenOutputRole::kOutput, "0");
  if (random.below(2) == 0 && made.size() > 3)
    b.output(made[made.size() - 2], AtenOutputRole::kGradient, "w");
  return b.spec;
}

}  // namespace shardwright::test_support
