#include <utility>

#include "search/program/emitter.h"

namespace shardwright::program {

void Emitter::gather(const Step& step) {
  has_result_ = !step.need_split;
  const auto key = std::make_pair(site_->source_key, step.group);
  if (compat_) {
    const auto known = gathered_.find(key);
    if (known != gathered_.end()) {
      // Pieces serve a later wish for the whole, joined; the whole serves one for pieces, which a
      // concat would only join again.
      pieces_ = known->second;
      if (step.need_split) return;
      current_ = pieces_.size() > 1 ? join(pieces_, 0) : pieces_.front();
      pieces_.clear();
      return;
    }
  }
  const auto count = static_cast<std::int64_t>(step.group.size());
  Tensor input = current_;
  if (is_bool()) input = cast(input, DataType::kBool, DataType::kInt64);
  Shape shape = input.shape;
  shape[0] *= count;
  const Tensor whole =
      unary("c_allgather", input, layer("c_allgather"), shape, log_.var(input.var).type,
            {{"ring_id", groups_.id(step.group, false)}, {"nranks", count}});
  std::vector<Tensor> results{whole};
  if (step.need_split) {
    results = split(whole, 0, count, names_.make("split@RESHARD") + ".tmp");
  }
  if (is_bool()) {
    for (Tensor& tensor : results)
      tensor = cast(tensor, DataType::kInt64, DataType::kBool);
  }
  if (!step.need_split) current_ = results.front();
  if (compat_) gathered_[key] = results;
  if (step.need_split) pieces_ = std::move(results);
}

void Emitter::concat_gather(const Step& step) {
  const auto count = static_cast<std::int64_t>(step.group.size());
  Tensor input = current_;
  const bool casts = is_bool() && !compat_;
  if (casts) input = cast(input, DataType::kBool, DataType::kInt64);
  Shape shape = input.shape;
  shape.back() *= count;
  current_ = unary("c_concat", input, layer("c_concat"), shape, log_.var(input.var).type,
                   {{"ring_id", groups_.id(step.group, false)}, {"nranks", count}});
  if (casts) current_ = cast(current_, DataType::kInt64, DataType::kBool);
  has_result_ = true;
}

// Booleans are counted: what is true somewhere is true, which the average agrees with.
void Emitter::all_reduce(const Step& step) {
  const bool maximum = step.reduction == Reduction::kMax;
  if (is_bool()) current_ = cast(current_, DataType::kBool, DataType::kInt64);
  const DataType type = log_.var(current_.var).type;
  current_ = unary(maximum ? "c_allreduce_max" : "c_allreduce_sum", current_, layer("c_allreduce"),
                   current_.shape, type, {{"ring_id", groups_.id(step.group, false)}});
  finish_reduction(step);
}

void Emitter::reduce_scatter(const Step& step) {
  const auto dim = static_cast<std::size_t>(step.dim);
  const auto count = static_cast<std::int64_t>(step.group.size());
  if (is_bool()) current_ = cast(current_, DataType::kBool, DataType::kInt64);
  if (dim != 0) current_ = transpose(current_, dim);
  Shape shape = current_.shape;
  shape[0] /= count;
  const Reduction reduction = step.reduction == Reduction::kMax ? Reduction::kMax : Reduction::kSum;
  current_ = unary("c_reducescatter", current_, layer("c_reducescatter"), shape,
                   log_.var(current_.var).type,
                   {{"ring_id", groups_.id(step.group, false)},
                    {"nranks", count},
                    {"reduce_type", std::string(to_name(reduction))}});
  if (dim != 0) current_ = transpose(current_, dim);
  finish_reduction(step);
}

void Emitter::finish_reduction(const Step& step) {
  if (is_bool()) {
    current_ = cast(current_, DataType::kInt64, DataType::kBool);
  } else if (step.reduction == Reduction::kAvg) {
    current_ = unary("scale", current_, layer("scale"), current_.shape, site_->type,
                     {{"divisor", static_cast<std::int64_t>(step.group.size())}});
  }
  has_result_ = true;
}

void Emitter::all_to_all(const Step& step) {
  const auto to = static_cast<std::size_t>(step.dim);
  const auto from = static_cast<std::size_t>(step.other_dim);
  const auto count = static_cast<std::int64_t>(step.group.size());
  Tensor tensor = current_;
  if (is_bool()) tensor = cast(tensor, DataType::kBool, DataType::kInt64);
  // The exchange knows dimension 0 alone.
  if (to != 0) tensor = join(split(tensor, to, count, names_.make("split@RESHARD") + ".tmp"), 0);
  tensor = unary("alltoall", tensor, layer("alltoall"), tensor.shape, log_.var(tensor.var).type,
                 {{"ring_id", groups_.id(step.group, false)}, {"nranks", count}});
  if (from != 0)
    tensor = join(split(tensor, 0, count, names_.make("split@RESHARD") + ".tmp"), from);
  if (is_bool()) tensor = cast(tensor, DataType::kInt64, DataType::kBool);
  current_ = tensor;
  has_result_ = true;
}

}  // namespace shardwright::program
