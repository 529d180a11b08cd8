#include "search/program/emit/op_builder.h"

#include <algorithm>

namespace shardwright::program {
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
// Paddle's Resharder does. More than kMaxPieces pieces are sliced, too.
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

}  // namespace shardwright::program
