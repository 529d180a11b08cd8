#include "core/program/simulator/collective.h"

#include <algorithm>
#include <cstdint>

namespace shardwright::program {
namespace {

using redistribution::ReduceOp;

Array reduce(const std::vector<Array>& arrays, ReduceOp op) {
  Array result = arrays.front();
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    for (std::size_t i = 0; i < result.values.size(); ++i)
      result.values[i] = combine(result.values[i], arrays[k].values[i], op);
  }
  if (op == ReduceOp::kAvg) {
    for (std::int64_t& value : result.values)
      value /= static_cast<std::int64_t>(arrays.size());
  }
  return result;
}

}  // namespace

std::int64_t combine(std::int64_t a, std::int64_t b, ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kAvg:
      return a + b;
    case ReduceOp::kMin:
      return std::min(a, b);
    case ReduceOp::kMax:
      return std::max(a, b);
    case ReduceOp::kProduct:
      return a * b;
  }
  return a;
}

const Array& Collective::joined(std::size_t dim) {
  const auto [at, fresh] = joined_.try_emplace(dim);
  if (fresh) at->second = concat(tensors_, dim);
  return at->second;
}

const Array& Collective::reduced(ReduceOp op) {
  const auto [at, fresh] = reduced_.try_emplace(op);
  if (fresh) at->second = reduce(tensors_, op);
  return at->second;
}

}  // namespace shardwright::program
