#include "core/program/simulator/collective.h"

#include <algorithm>
#include <cstdint>

namespace shardwright::program {
namespace {

Array reduce(const std::vector<Array>& arrays, Reduction reduction) {
  Array result = arrays.front();
  for (std::size_t k = 1; k < arrays.size(); ++k) {
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      std::int64_t& value = result.values[i];
      const std::int64_t other = arrays[k].values[i];
      value = reduction == Reduction::kMax ? std::max(value, other) : value + other;
    }
  }
  if (reduction == Reduction::kAvg) {
    for (std::int64_t& value : result.values)
      value /= static_cast<std::int64_t>(arrays.size());
  }
  return result;
}

}  // namespace

const Array& Collective::joined(std::size_t dim) {
  const auto [at, fresh] = joined_.try_emplace(dim);
  if (fresh) at->second = concat(tensors_, dim);
  return at->second;
}

const Array& Collective::reduced(Reduction reduction) {
  const auto [at, fresh] = reduced_.try_emplace(reduction);
  if (fresh) at->second = reduce(tensors_, reduction);
  return at->second;
}

}  // namespace shardwright::program
