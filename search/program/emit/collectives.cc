#include "search/program/emit/collectives.h"

namespace shardwright::program {

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
      // Cached pieces are joined if the step wants the whole. A cached whole is returned even if
      // the step wants pieces, because Emitter::concat would only join them again.
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

// Paddle's Resharder does not cast booleans here.
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

// The sum of booleans is a count, and casting it back gives their logical or.
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
  tensor = ops_.unary("c_reducescatter", tensor, ops_.new_layer_name("c_reducescatter"), shape,
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

}  // namespace shardwright::program
