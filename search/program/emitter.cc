#include "search/program/emitter.h"

#include <algorithm>
#include <utility>

namespace shardwright::program {
namespace {

std::vector<std::int64_t> list_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Attributes casting(DataType from, DataType to) {
  return {{"in_dtype", std::string(to_name(from))}, {"out_dtype", std::string(to_name(to))}};
}

}  // namespace

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

std::optional<VarId> Emitter::emit(const EmitSite& site, const std::vector<Step>& steps) {
  site_ = &site;
  after_.reset();
  if (site.into.valid()) after_ = site.anchor;
  current_ = {site.source, site.local_shape};
  has_result_ = false;
  is_direct_ = site.into.valid() && steps.size() == 2 && steps[0].kind == StepKind::kRecv;
  pieces_.clear();
  for (const Step& step : steps)
    apply(step);
  if (!has_result_) return std::nullopt;
  if (site.into.valid() && current_.var != site.into) {
    insert("assign", {current_.var}, {site.into}, {});
    current_.var = site.into;
  }
  return current_.var;
}

void Emitter::apply(const Step& step) {
  switch (step.kind) {
    case StepKind::kAllGather:
      return gather(step);
    case StepKind::kConcatGather:
      return concat_gather(step);
    case StepKind::kAllReduce:
      return all_reduce(step);
    case StepKind::kReduceScatter:
      return reduce_scatter(step);
    case StepKind::kAllToAll:
      return all_to_all(step);
    case StepKind::kSend:
      return send(step);
    case StepKind::kRecv:
      return recv(step);
    case StepKind::kKeep:
      pieces_.push_back(step.local.empty() ? current_
                                           : box(current_, step.local,
                                                 names_.make(site_->base_name + "@RESHARD")));
      return;
    case StepKind::kConcat:
      return concat(step);
    case StepKind::kSlice:
      return slice(step);
    case StepKind::kZero:
      return zero(step);
    case StepKind::kEnd:
      has_result_ = true;
      return;
  }
}

// The name of a framework layer's output: "type@RESHARD_0.tmp_0".
std::string Emitter::layer(const char* type) {
  return names_.make_sole(names_.make(std::string(type) + "@RESHARD") + ".tmp");
}

Emitter::Tensor Emitter::create(std::string name, Shape shape, DataType type) {
  Variable variable;
  variable.name = std::move(name);
  variable.shape = shape;
  variable.type = type;
  variable.block = site_->block;
  variable.lod_level = site_->lod_level;
  variable.is_local = true;
  return {log_.create_var(std::move(variable)), shape};
}

OpId Emitter::insert(std::string type, std::vector<VarId> inputs, std::vector<VarId> outputs,
                     Attributes attributes) {
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
  if (!after_) return log_.insert_before(site_->anchor, std::move(op));
  after_ = log_.insert_after(*after_, std::move(op));
  return *after_;
}

Emitter::Tensor Emitter::unary(std::string op_type, const Tensor& input, std::string name,
                               Shape shape, DataType type, Attributes attributes) {
  const Tensor output = create(std::move(name), shape, type);
  insert(std::move(op_type), {input.var}, {output.var}, std::move(attributes));
  return output;
}

Emitter::Tensor Emitter::cast(const Tensor& tensor, DataType from, DataType to) {
  return unary("cast", tensor, names_.make("cast@RESHARD.tmp"), tensor.shape, to,
               casting(from, to));
}

std::vector<Emitter::Tensor> Emitter::split(const Tensor& tensor, std::size_t dim,
                                            std::int64_t count, const std::string& key) {
  Shape shape = tensor.shape;
  shape[dim] /= count;
  const DataType type = log_.var(tensor.var).type;
  std::vector<Tensor> pieces;
  std::vector<VarId> outputs;
  for (std::int64_t i = 0; i < count; ++i) {
    pieces.push_back(create(names_.make(key), shape, type));
    outputs.push_back(pieces.back().var);
  }
  insert("split", {tensor.var}, std::move(outputs),
         {{"num", count}, {"axis", static_cast<std::int64_t>(dim)}});
  return pieces;
}

Emitter::Tensor Emitter::join(const std::vector<Tensor>& tensors, std::size_t dim) {
  Shape shape = tensors.front().shape;
  shape[dim] = 0;
  std::vector<VarId> inputs;
  for (const Tensor& tensor : tensors) {
    shape[dim] += tensor.shape[dim];
    inputs.push_back(tensor.var);
  }
  const Tensor output = create(layer("concat"), shape, log_.var(tensors.front().var).type);
  insert("concat", std::move(inputs), {output.var}, {{"axis", static_cast<std::int64_t>(dim)}});
  return output;
}

// A box of a tensor; `name` is used where the operator makes one variable.
Emitter::Tensor Emitter::box(const Tensor& tensor, const Part& part, const std::string& name) {
  const Shape shape = shape_of(part);
  std::vector<std::size_t> smaller;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] != tensor.shape[dim]) smaller.push_back(dim);
  }
  const DataType type = log_.var(tensor.var).type;
  if (smaller.empty()) return unary("assign", tensor, name, shape, type, {});
  const std::size_t dim = smaller.front();
  if (smaller.size() == 1 && shape[dim] > 0 && tensor.shape[dim] % shape[dim] == 0 &&
      part[dim].begin % shape[dim] == 0) {
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

// Dimensions `dim` and 0 swapped.
Emitter::Tensor Emitter::transpose(const Tensor& tensor, std::size_t dim) {
  Shape shape = tensor.shape;
  std::swap(shape[0], shape[dim]);
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i < shape.size(); ++i)
    order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[0], order[dim]);
  return unary("transpose2", tensor, layer("transpose"), shape, log_.var(tensor.var).type,
               {{"axis", order}});
}

void Emitter::send(const Step& step) {
  if (remembers() && !sent_.try_emplace({site_->source_key, step.dst}, true).second) return;
  Tensor tensor = current_;
  if (!step.local.empty()) {
    tensor = box(tensor, step.local, names_.make(site_->base_name + "@RESHARD"));
  }
  if (is_bool()) tensor = cast(tensor, DataType::kBool, DataType::kInt64);
  insert("send_v2", {tensor.var}, {},
         {{"ring_id", groups_.id({step.src, step.dst}, true)}, {"peer", std::int64_t{1}}});
}

void Emitter::recv(const Step& step) {
  const auto key = std::make_pair(site_->source_key, step.src);
  if (remembers()) {
    const auto known = received_.find(key);
    if (known != received_.end()) {
      pieces_.push_back(known->second);
      return;
    }
  }
  const Shape shape = shape_of(step.part);
  const DataType type = is_bool() ? DataType::kInt64 : site_->type;
  // Upstream does not reset booleans on the way in.
  const bool resets = site_->lod_feed.valid() && !(is_bool() && remembers());
  const bool into = is_direct_ && !is_bool();
  const Tensor result{site_->into, shape};
  Tensor tensor =
      into && !resets ? result : create(names_.make(site_->base_name + "@recv"), shape, type);
  insert("recv_v2", {tensor.var}, {tensor.var},
         {{"ring_id", groups_.id({step.src, step.dst}, true)},
          {"peer", std::int64_t{0}},
          {"out_shape", list_of(shape)}});
  if (resets) {
    const Tensor reset = into ? result : create(names_.make("reset_lod@RESHARD.tmp"), shape, type);
    insert("lod_reset", {tensor.var, site_->lod_feed}, {reset.var}, {});
    tensor = reset;
  }
  if (is_bool() && is_direct_) {
    insert("cast", {tensor.var}, {result.var}, casting(DataType::kInt64, DataType::kBool));
    tensor = result;
  } else if (is_bool()) {
    tensor = cast(tensor, DataType::kInt64, DataType::kBool);
  }
  if (remembers()) received_[key] = tensor;
  pieces_.push_back(tensor);
}

void Emitter::concat(const Step& step) {
  // All in a row: one operator does it; upstream joins two by two.
  std::optional<std::size_t> row;
  Part so_far = step.parts.front();
  for (std::size_t i = 1; i < step.parts.size(); ++i) {
    const std::optional<Join> fit = program::join(so_far, step.parts[i]);
    if (!fit || !fit->first_is_lower || (row && *row != fit->dim)) {
      row.reset();
      break;
    }
    row = fit->dim;
    so_far = fit->joined;
  }
  if (pieces_.size() < step.parts.size()) {
    current_ = pieces_.front();  // joined already, by a gather that was remembered
  } else if (!compat_ && row) {
    current_ = join(pieces_, *row);
  } else {
    std::vector<Part> boxes;
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < step.parts.size(); ++i) {
      Tensor piece = pieces_[i];
      absorb(boxes, step.parts[i], [&](std::size_t other, const Join& fit) {
        const Tensor& known = tensors[other];
        piece = fit.first_is_lower ? join({known, piece}, fit.dim) : join({piece, known}, fit.dim);
        tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(other));
      });
      tensors.push_back(piece);
    }
    current_ = tensors.front();
  }
  pieces_.clear();
  has_result_ = true;
}

void Emitter::slice(const Step& step) {
  current_ = box(current_, step.part, names_.make(site_->base_name + "@RESHARD"));
  has_result_ = true;
}

void Emitter::zero(const Step& step) {
  const Shape shape = shape_of(step.part);
  current_ = create(layer("fill_constant"), shape, site_->type);
  insert("fill_constant", {}, {current_.var},
         {{"shape", list_of(shape)}, {"value", std::int64_t{0}}});
  has_result_ = true;
}

}  // namespace shardwright::program
