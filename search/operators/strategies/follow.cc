// Operators that follow the strategies of their input.
#include <algorithm>
#include <optional>
#include <string>

#include "search/operators/strategies/writer.h"

namespace shardwright::operators::generators {
namespace {

struct FollowCosts {
  PhaseCost compute = kNominalCompute;
  PhaseMemory memory;
};

// Returns true if ColossalAI counts the input as a parameter (not for indexing and activations).
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

// Source: elementwise_meta_info. The backward pass needs the dropout mask, of one byte per element.
FollowCosts dropout_costs(const StrategyWriter& writer) {
  FollowCosts costs = activation_costs(writer);
  const std::int64_t in = writer.local_float_bytes(kInput);
  const std::int64_t mask = in / 4;
  costs.memory = phases({2 * in, 0, 0, mask}, {in - mask, 0, mask, 0});
  return costs;
}

// Operators that only change the layout of memory. Forward memory is twice the output; `backward`
// and `temporary` are multiples of the output in the backward pass. Source:
// tensor_related_metainfo, ColossalAI auto_parallel/meta_profiler/meta_registry/tensor.py.
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

// Returns the costs of the unfinished strategy. Precondition: all operands are placed.
FollowCosts follow_costs(const OpNode& node, const StrategyWriter& writer) {
  switch (node.kind) {
    case OpKind::kRelu:
      return activation_costs(writer);
    case OpKind::kTanh:  // ColossalAI has measured only the function
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

using Form = StrategyName::Form;

DimSpecs replicate(DimSpecs dims, std::span<const std::size_t> which) {
  for (const std::size_t d : which)
    dims = dims.with(d, DimSpec{});
  return dims;
}

// Makes one strategy of the node for each strategy of its producer.
class Follower {
 public:
  Follower(const GeneratorInput& input, StrategyWriter& writer);

  void follow(std::size_t s);

 private:
  using Specs = std::span<const ShardingSpec* const>;

  void simple(const DimSpecs& in, const DimSpecs& out, Form form = Form::kFollow);
  void view(const ShardingSpec& from);
  void fully_replicated(const ShardingSpec& from);
  void split(const ShardingSpec& from);
  void getitem(const DimSpecs& from);
  void get_element(Specs from);
  DimSpecs permuted(const DimSpecs& from) const;
  DimSpecs summed(const DimSpecs& from) const;
  Strategy* finish(Form form, std::int32_t element = 0);
  void gather_all(Strategy& strategy, const ShardingSpec& from);

  const GeneratorInput& input_;
  StrategyWriter& writer_;
  std::size_t in_rank_;
  std::size_t out_rank_;
  std::vector<std::size_t> dims_;  // dimensions in the attributes, counted from the front
  std::optional<std::vector<ReshapeGroup>> groups_;
  std::int32_t suffix_ = 0;
};

Follower::Follower(const GeneratorInput& input, StrategyWriter& writer)
    : input_(input),
      writer_(writer),
      in_rank_(writer.operand(kInput).shapes[0]->rank()),
      out_rank_(writer.operand(writer.output()).shapes[0]->rank()),
      dims_(op_dims(input.node.attrs, in_rank_)) {
  if (input.node.kind == OpKind::kView || input.node.kind == OpKind::kReshape) {
    groups_ = reshape_groups(writer.operand(kInput).shapes[0]->dims,
                             writer.operand(writer.output()).shapes[0]->dims);
  }
}

void Follower::follow(std::size_t s) {
  suffix_ = static_cast<std::int32_t>(s);
  const Specs from = input_.producer->output_specs(s);
  const DimSpecs& dims = from[0]->dims;
  writer_.begin();
  switch (input_.node.kind) {
    case OpKind::kView:
    case OpKind::kReshape:
      return view(*from[0]);
    case OpKind::kUnsqueeze:
    case OpKind::kFlatten:
    case OpKind::kAdaptiveAvgPool2d:
    case OpKind::kDefaultReshape:
      return fully_replicated(*from[0]);
    case OpKind::kTranspose:
    case OpKind::kPermute:
      return simple(dims, permuted(dims));
    case OpKind::kSplit:
      return split(*from[0]);
    case OpKind::kGetitem:
      return writer_.operand(kInput).tuple ? get_element(from) : getitem(dims);
    case OpKind::kSoftmax:
      return simple(replicate(dims, dims_), replicate(dims, dims_));
    case OpKind::kSum:
      return simple(replicate(dims, dims_), summed(replicate(dims, dims_)));
    default:
      return simple(dims, dims);
  }
}

Strategy* Follower::finish(Form form, std::int32_t element) {
  StrategyName name;
  name.form = form;
  name.suffix = suffix_;
  name.element = element;
  Strategy* strategy = writer_.finish(name);
  if (strategy == nullptr) return nullptr;
  const FollowCosts costs = follow_costs(input_.node, writer_);
  strategy->compute = costs.compute;
  strategy->memory = costs.memory;
  return strategy;
}

void Follower::simple(const DimSpecs& in, const DimSpecs& out, Form form) {
  if (writer_.place(kInput, in) && writer_.place(writer_.output(), out)) finish(form);
}

// Gathers all sharded dimensions: a single axis by one collective, several axes by a conversion.
void Follower::gather_all(Strategy& strategy, const ShardingSpec& from) {
  const std::uint8_t axes = from.dims.used_axes();
  if (axes == 0) return;
  if (std::has_single_bit(axes)) {
    writer_.gather(strategy, kInput, axes, static_cast<double>(from.local_elements));
    return;
  }
  const ShardingSpec* whole = input_.table.intern(from.shape, DimSpecs(from.dims.rank()));
  writer_.reshard(strategy, kInput, input_.planner.path(&from, whole));
}

void Follower::fully_replicated(const ShardingSpec& from) {
  if (!writer_.place(kInput, from.dims) || !writer_.place(writer_.output(), DimSpecs(out_rank_)))
    return;
  if (Strategy* strategy = finish(Form::kFullyReplicated)) gather_all(*strategy, from);
}

void Follower::view(const ShardingSpec& from) {
  std::optional<DimSpecs> out;
  if (groups_) out = reshape_placement(*groups_, from.dims, out_rank_);
  if (!groups_ && from.dims.used_axes() == 0) out = DimSpecs(out_rank_);
  if (!out) return fully_replicated(from);
  simple(from.dims, *out);
}

void Follower::split(const ShardingSpec& from) {
  const DimSpec gathered = from.dims[dims_[0]];
  const DimSpecs dims = from.dims.with(dims_[0], DimSpec{});
  if (!writer_.place(kInput, dims) || !writer_.place(writer_.output(), dims)) return;
  Strategy* strategy = finish(Form::kSplit);
  if (strategy == nullptr || gathered.replicated()) return;
  const ShardingSpec& target = writer_.placed(kInput);
  if (gathered.num_axes() == 1) {
    // ColossalAI prices this collective by its output.
    writer_.gather(*strategy, kInput, gathered.axes, static_cast<double>(target.local_elements));
  } else {
    writer_.reshard(*strategy, kInput, input_.planner.path(&from, &target));
  }
}

// Gathers the indexed dimensions. If the first index is a number, the dimensions after the indexed
// ones move to the front. Source: TensorStrategyGenerator, ColossalAI
// node_handler/strategy/getitem_generator.py.
void Follower::getitem(const DimSpecs& from) {
  const OpAttrs& attrs = input_.node.attrs;
  const std::size_t indexed = attrs.index.size();
  DimSpecs in = from;
  for (std::size_t d = 0; d < indexed; ++d)
    in = in.with(d, DimSpec{});
  const std::size_t shift = attrs.index[0].number ? indexed : 0;
  DimSpecs out(out_rank_);
  for (std::size_t d = shift; d < in_rank_; ++d) {
    if (in[d].replicated()) continue;
    if (d - shift >= out_rank_) return;
    out = out.with(d - shift, in[d]);
  }
  simple(in, out, Form::kGetitem);
}

void Follower::get_element(Specs from) {
  const std::int64_t number = *input_.node.attrs.index[0].number;
  const auto count = static_cast<std::int64_t>(from.size());
  const auto element = static_cast<std::size_t>(number < 0 ? number + count : number);
  writer_.place(kInput, from);
  if (!writer_.place(writer_.output(), from[element]->dims)) return;
  finish(Form::kGetElement, static_cast<std::int32_t>(number));
}

DimSpecs Follower::permuted(const DimSpecs& from) const {
  if (input_.node.kind == OpKind::kTranspose)
    return from.with(dims_[0], from[dims_[1]]).with(dims_[1], from[dims_[0]]);
  DimSpecs to(out_rank_);
  for (std::size_t d = 0; d < dims_.size(); ++d)
    to = to.with(d, from[dims_[d]]);
  return to;
}

DimSpecs Follower::summed(const DimSpecs& from) const {
  if (input_.node.attrs.keepdim) return from;
  DimSpecs to(out_rank_);
  std::size_t next = 0;
  for (std::size_t d = 0; d < in_rank_; ++d) {
    if (std::find(dims_.begin(), dims_.end(), d) == dims_.end()) to = to.with(next++, from[d]);
  }
  return to;
}

}  // namespace

void generate_follow(const GeneratorInput& input, StrategyWriter& writer) {
  Follower follower(input, writer);
  for (std::size_t s = 0; s < input.producer->size(); ++s)
    follower.follow(s);
}

}  // namespace shardwright::operators::generators
