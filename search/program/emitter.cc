#include "search/program/emitter.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardwright::program {

std::string NameMaker::make(const std::string& key) {
  std::uint64_t& next = next_[key];
  for (;;) {
    std::string name = key + "_" + std::to_string(next++);
    if (!taken_->contains(name)) return name;
  }
}

std::string NameMaker::make_sole(std::string key) {
  key += "_0";
  if (!taken_->contains(key)) return key;
  key.resize(key.size() - 2);
  next_[key] = 1;
  return make(key);
}

namespace {

Attributes casting(DataType from, DataType to) {
  return {{"in_dtype", std::string(to_name(from))}, {"out_dtype", std::string(to_name(to))}};
}

}  // namespace

void OpBuilder::begin(const EmitSite& site) {
  site_ = &site;
  after_.reset();
  if (site.into.valid()) after_ = site.anchor;
}

std::string OpBuilder::new_layer_name(const char* type) {
  return names_.make_sole(names_.make(std::string(type) + "@RESHARD") + ".tmp");
}

LocalTensor OpBuilder::create(std::string name, const Shape& shape, DataType type) {
  Variable variable;
  variable.name = std::move(name);
  variable.shape = shape;
  variable.type = type;
  variable.block = site_->block;
  variable.lod_level = site_->lod_level;
  variable.is_local = true;
  return {log_.create_var(std::move(variable)), shape};
}

void OpBuilder::insert(std::string type, const std::vector<VarId>& inputs,
                       const std::vector<VarId>& outputs, Attributes attributes) {
  Operation op;
  op.type = std::move(type);
  op.role = site_->role;
  op.is_inserted = true;
  op.attributes = std::move(attributes);
  for (const VarId var : inputs) {
    op.inputs.push_back({var, static_cast<std::int32_t>(op.inputs.size()), {}});
  }
  for (const VarId var : outputs) {
    op.outputs.push_back({var, static_cast<std::int32_t>(op.outputs.size()), {}});
  }
  if (after_) {
    after_ = log_.insert_after(*after_, std::move(op));
  } else {
    log_.insert_before(site_->anchor, std::move(op));
  }
}

LocalTensor OpBuilder::unary(std::string op_type, const LocalTensor& input, std::string name,
                             const Shape& shape, DataType type, Attributes attributes) {
  LocalTensor output = create(std::move(name), shape, type);
  insert(std::move(op_type), {input.var}, {output.var}, std::move(attributes));
  return output;
}

LocalTensor OpBuilder::cast(const LocalTensor& tensor, DataType from, DataType to) {
  return unary("cast", tensor, names_.make("cast@RESHARD.tmp"), tensor.shape, to,
               casting(from, to));
}

void OpBuilder::cast_into(const LocalTensor& tensor, VarId into, DataType from, DataType to) {
  insert("cast", {tensor.var}, {into}, casting(from, to));
}

std::vector<LocalTensor> OpBuilder::split(const LocalTensor& tensor, std::size_t dim,
                                          std::int64_t count, const std::string& key) {
  Shape shape = tensor.shape;
  shape[dim] /= count;
  const DataType type = type_of(tensor);
  std::vector<LocalTensor> pieces;
  std::vector<VarId> outputs;
  for (std::int64_t i = 0; i < count; ++i) {
    pieces.push_back(create(names_.make(key), shape, type));
    outputs.push_back(pieces.back().var);
  }
  insert("split", {tensor.var}, outputs,
         {{"num", count}, {"axis", static_cast<std::int64_t>(dim)}});
  return pieces;
}

LocalTensor OpBuilder::join(const std::vector<LocalTensor>& tensors, std::size_t dim) {
  Shape shape = tensors.front().shape;
  shape[dim] = 0;
  std::vector<VarId> inputs;
  for (const LocalTensor& tensor : tensors) {
    shape[dim] += tensor.shape[dim];
    inputs.push_back(tensor.var);
  }
  LocalTensor output = create(new_layer_name("concat"), shape, type_of(tensors.front()));
  insert("concat", inputs, {output.var}, {{"axis", static_cast<std::int64_t>(dim)}});
  return output;
}

// Uses an assign for the whole tensor, a split if equal pieces suffice, and otherwise a slice, as
// Paddle's Resharder does. Also uses a slice if a split would make more than kMaxPieces pieces.
LocalTensor OpBuilder::cut_box(const LocalTensor& tensor, const Part& part,
                               const std::string& name) {
  const Shape shape = shape_of(part);
  std::vector<std::size_t> smaller;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != tensor.shape[dim]) smaller.push_back(dim);
  }
  const DataType type = type_of(tensor);
  if (smaller.empty()) return unary("assign", tensor, name, shape, type, {});
  const std::size_t dim = smaller.front();
  if (smaller.size() == 1 && shape[dim] > 0 && tensor.shape[dim] % shape[dim] == 0 &&
      part[dim].begin % shape[dim] == 0 && tensor.shape[dim] / shape[dim] <= kMaxPieces) {
    const auto pieces = split(tensor, dim, tensor.shape[dim] / shape[dim], "split@RESHARD.tmp");
    return pieces[static_cast<std::size_t>(part[dim].begin / shape[dim])];
  }
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
    starts.push_back(part[axis].begin);
    ends.push_back(part[axis].end);
  }
  return unary("slice", tensor, name, shape, type,
               {{"axes", axes}, {"starts", starts}, {"ends", ends}});
}

LocalTensor OpBuilder::swap_with_first(const LocalTensor& tensor, std::size_t dim) {
  Shape shape = tensor.shape;
  std::swap(shape[0], shape[dim]);
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < shape.size(); ++i)
    order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[0], order[dim]);
  return unary("transpose2", tensor, new_layer_name("transpose"), shape, type_of(tensor),
               {{"axis", order}});
}

LocalTensor CollectiveEmitter::from_bool(const LocalTensor& tensor) {
  return ops_.site().is_bool() ? ops_.cast(tensor, DataType::kBool, DataType::kInt64) : tensor;
}

LocalTensor CollectiveEmitter::to_bool(const LocalTensor& tensor) {
  return ops_.site().is_bool() ? ops_.cast(tensor, DataType::kInt64, DataType::kBool) : tensor;
}

std::vector<LocalTensor> CollectiveEmitter::gather(const Step& step, const LocalTensor& input) {
  const auto key = std::make_pair(ops_.site().source_key, step.group);
  if (compat_) {
    const auto known = gathered_.find(key);
    if (known != gathered_.end()) {
      // If the step wants the whole tensor, cached pieces are joined. If the step wants pieces, a
      // cached whole tensor is returned, too, because Emitter::concat would only join the pieces.
      if (step.need_split || known->second.size() == 1) return known->second;
      return {ops_.join(known->second, 0)};
    }
  }
  const auto count = static_cast<std::int64_t>(step.group.size());
  const LocalTensor sent = from_bool(input);
  Shape shape = sent.shape;
  shape[0] *= count;
  const LocalTensor whole =
      ops_.unary("c_allgather", sent, ops_.new_layer_name("c_allgather"), shape, ops_.type_of(sent),
                 {{"ring_id", groups_.ring_id(step.group, false)}, {"nranks", count}});
  std::vector<LocalTensor> results{whole};
  if (step.need_split) {
    results = ops_.split(whole, 0, count, ops_.new_name("split@RESHARD") + ".tmp");
  }
  for (LocalTensor& tensor : results)
    tensor = to_bool(tensor);
  if (compat_) gathered_[key] = results;
  return results;
}

// As Paddle's Resharder does, compat mode does not cast booleans here.
LocalTensor CollectiveEmitter::concat_gather(const Step& step, const LocalTensor& input) {
  const auto count = static_cast<std::int64_t>(step.group.size());
  const LocalTensor sent = compat_ ? input : from_bool(input);
  Shape shape = sent.shape;
  shape.back() *= count;
  const LocalTensor whole =
      ops_.unary("c_concat", sent, ops_.new_layer_name("c_concat"), shape, ops_.type_of(sent),
                 {{"ring_id", groups_.ring_id(step.group, false)}, {"nranks", count}});
  return compat_ ? whole : to_bool(whole);
}

// The sum of booleans is a count; casting the count to boolean gives their logical or.
LocalTensor CollectiveEmitter::all_reduce(const Step& step, const LocalTensor& input) {
  const bool is_max = step.reduction == redistribution::ReduceOp::kMax;
  const LocalTensor sent = from_bool(input);
  const LocalTensor reduced = ops_.unary(
      is_max ? "c_allreduce_max" : "c_allreduce_sum", sent, ops_.new_layer_name("c_allreduce"),
      sent.shape, ops_.type_of(sent), {{"ring_id", groups_.ring_id(step.group, false)}});
  return finish_reduction(step, reduced);
}

LocalTensor CollectiveEmitter::reduce_scatter(const Step& step, const LocalTensor& input) {
  const auto dim = static_cast<std::size_t>(step.dim);
  const auto count = static_cast<std::int64_t>(step.group.size());
  LocalTensor tensor = from_bool(input);
  if (dim != 0) tensor = ops_.swap_with_first(tensor, dim);
  Shape shape = tensor.shape;
  shape[0] /= count;
  const bool is_max = step.reduction == redistribution::ReduceOp::kMax;
  tensor = ops_.unary(
      "c_reducescatter", tensor, ops_.new_layer_name("c_reducescatter"), shape,
      ops_.type_of(tensor),
      {{"ring_id", groups_.ring_id(step.group, false)},
       {"nranks", count},
       {"reduce_type", std::string(to_name(is_max ? Reduction::kMax : Reduction::kSum))}});
  if (dim != 0) tensor = ops_.swap_with_first(tensor, dim);
  return finish_reduction(step, tensor);
}

LocalTensor CollectiveEmitter::finish_reduction(const Step& step, const LocalTensor& reduced) {
  if (ops_.site().is_bool()) return to_bool(reduced);
  if (step.reduction != redistribution::ReduceOp::kAvg) return reduced;
  return ops_.unary("scale", reduced, ops_.new_layer_name("scale"), reduced.shape, ops_.site().type,
                    {{"divisor", static_cast<std::int64_t>(step.group.size())}});
}

LocalTensor CollectiveEmitter::all_to_all(const Step& step, const LocalTensor& input) {
  const auto to = static_cast<std::size_t>(step.dim);
  const auto from = static_cast<std::size_t>(step.other_dim);
  const auto count = static_cast<std::int64_t>(step.group.size());
  const auto exchange_dims = [&](const LocalTensor& tensor, std::size_t split, std::size_t join) {
    return ops_.join(ops_.split(tensor, split, count, ops_.new_name("split@RESHARD") + ".tmp"),
                     join);
  };
  LocalTensor tensor = from_bool(input);
  if (to != 0) tensor = exchange_dims(tensor, to, 0);
  tensor = ops_.unary("alltoall", tensor, ops_.new_layer_name("alltoall"), tensor.shape,
                      ops_.type_of(tensor),
                      {{"ring_id", groups_.ring_id(step.group, false)}, {"nranks", count}});
  if (from != 0) tensor = exchange_dims(tensor, 0, from);
  return to_bool(tensor);
}

void MessageEmitter::send(const Step& step, const LocalTensor& input) {
  const EmitSite& site = ops_.site();
  if (caches() && !sent_.try_emplace({site.source_key, step.dst}, true).second) return;
  LocalTensor tensor = input;
  if (!step.local.empty()) {
    tensor = ops_.cut_box(tensor, step.local, ops_.new_name(site.base_name + "@RESHARD"));
  }
  if (site.is_bool()) tensor = ops_.cast(tensor, DataType::kBool, DataType::kInt64);
  ops_.insert(
      "send_v2", {tensor.var}, {},
      {{"ring_id", groups_.ring_id({step.src, step.dst}, true)}, {"peer", std::int64_t{1}}});
}

LocalTensor MessageEmitter::receive(const Step& step, bool is_result) {
  if (!caches()) return receive_new(step, is_result);
  const auto key = std::make_pair(ops_.site().source_key, step.src);
  const auto known = received_.find(key);
  if (known != received_.end()) return known->second;
  LocalTensor tensor = receive_new(step, is_result);
  received_[key] = tensor;
  return tensor;
}

LocalTensor MessageEmitter::receive_new(const Step& step, bool is_result) {
  const EmitSite& site = ops_.site();
  const Shape shape = shape_of(step.part);
  const DataType type = site.is_bool() ? DataType::kInt64 : site.type;
  // Paddle's Resharder does not restore the level of detail of received booleans.
  const bool resets = site.lod_feed.valid() && !(site.is_bool() && caches());
  const bool into = is_result && !site.is_bool();
  LocalTensor result{site.into, shape};
  LocalTensor tensor =
      into && !resets ? result : ops_.create(ops_.new_name(site.base_name + "@recv"), shape, type);
  std::vector<VarId> inputs;
  if (groups_.communication().recv_has_input) inputs.push_back(tensor.var);
  ops_.insert("recv_v2", inputs, {tensor.var},
              {{"ring_id", groups_.ring_id({step.src, step.dst}, true)},
               {"peer", std::int64_t{0}},
               {"out_shape", std::vector<std::int64_t>(shape.begin(), shape.end())}});
  if (resets) {
    const LocalTensor reset =
        into ? result : ops_.create(ops_.new_name("reset_lod@RESHARD.tmp"), shape, type);
    ops_.insert("lod_reset", {tensor.var, site.lod_feed}, {reset.var}, {});
    tensor = reset;
  }
  if (!site.is_bool()) return tensor;
  if (!is_result) return ops_.cast(tensor, DataType::kInt64, DataType::kBool);
  ops_.cast_into(tensor, result.var, DataType::kInt64, DataType::kBool);
  return result;
}

namespace {

// Returns the dimension along which the parts follow each other, ascending; empty if none.
std::optional<std::size_t> row_dim(const std::vector<Part>& parts) {
  std::optional<std::size_t> row;
  Part so_far = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::optional<Join> fit = join(so_far, parts[i]);
    if (!fit || !fit->first_is_lower || (row && *row != fit->dim)) return std::nullopt;
    row = fit->dim;
    so_far = fit->joined;
  }
  return row;
}

}  // namespace

std::optional<VarId> Emitter::emit(const EmitSite& site, const std::vector<Step>& steps) {
  ops_.begin(site);
  current_ = {site.source, site.local_shape};
  pieces_.clear();
  has_result_ = false;
  receives_result_ = site.into.valid() && steps.size() == 2 && steps[0].kind == StepKind::kRecv;
  for (const Step& step : steps)
    apply(step);
  if (!has_result_) return std::nullopt;
  if (site.into.valid() && current_.var != site.into) {
    ops_.insert("assign", {current_.var}, {site.into}, {});
    current_.var = site.into;
  }
  return current_.var;
}

void Emitter::apply(const Step& step) {
  switch (step.kind) {
    case StepKind::kAllGather:
      return gather(step);
    case StepKind::kConcatGather:
      return finish(collectives_.concat_gather(step, current_));
    case StepKind::kAllReduce:
      return finish(collectives_.all_reduce(step, current_));
    case StepKind::kReduceScatter:
      return finish(collectives_.reduce_scatter(step, current_));
    case StepKind::kAllToAll:
      return finish(collectives_.all_to_all(step, current_));
    case StepKind::kSend:
      return messages_.send(step, current_);
    case StepKind::kRecv:
      pieces_.push_back(messages_.receive(step, receives_result_));
      return;
    case StepKind::kKeep:
      return keep(step);
    case StepKind::kConcat:
      return concat(step);
    case StepKind::kSlice:
      return finish(cut_box(step.part));
    case StepKind::kZero:
      return zero(step);
    case StepKind::kEnd:
      has_result_ = true;
      return;
  }
}

void Emitter::finish(const LocalTensor& result) {
  current_ = result;
  has_result_ = true;
}

LocalTensor Emitter::cut_box(const Part& part) {
  return ops_.cut_box(current_, part, ops_.new_name(ops_.site().base_name + "@RESHARD"));
}

void Emitter::gather(const Step& step) {
  has_result_ = !step.need_split;
  std::vector<LocalTensor> gathered = collectives_.gather(step, current_);
  if (step.need_split) {
    pieces_ = std::move(gathered);
  } else {
    current_ = gathered.front();
    pieces_.clear();
  }
}

void Emitter::keep(const Step& step) {
  pieces_.push_back(step.local.empty() ? current_ : cut_box(step.local));
}

// Joins adjacent parts with one operator. Paddle's Resharder always joins two parts at a time.
void Emitter::concat(const Step& step) {
  if (pieces_.size() < step.parts.size()) {
    current_ = pieces_.front();  // a cached gather has joined them
  } else if (const auto dim = compat_ ? std::nullopt : row_dim(step.parts)) {
    current_ = ops_.join(pieces_, *dim);
  } else {
    current_ = join_pairwise(step);
  }
  pieces_.clear();
  has_result_ = true;
}

LocalTensor Emitter::join_pairwise(const Step& step) {
  std::vector<Part> boxes;
  std::vector<LocalTensor> tensors;
  for (std::size_t i = 0; i < step.parts.size(); ++i) {
    LocalTensor piece = pieces_[i];
    absorb(boxes, step.parts[i], [&](std::size_t other, const Join& fit) {
      const LocalTensor& known = tensors[other];
      piece = fit.first_is_lower ? ops_.join({known, piece}, fit.dim)
                                 : ops_.join({piece, known}, fit.dim);
      tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(other));
    });
    tensors.push_back(piece);
  }
  return tensors.front();
}

void Emitter::zero(const Step& step) {
  const Shape shape = shape_of(step.part);
  const LocalTensor zeros =
      ops_.create(ops_.new_layer_name("fill_constant"), shape, ops_.site().type);
  ops_.insert("fill_constant", {}, {zeros.var},
              {{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
               {"value", std::int64_t{0}}});
  finish(zeros);
}

}  // namespace shardwright::program
