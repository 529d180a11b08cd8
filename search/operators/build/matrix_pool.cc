#include "search/operators/build/matrix_pool.h"

#include <bit>
#include <utility>

#include "core/interner.h"

namespace shardwright::operators {
namespace {

std::uint64_t hash_of(const CostMatrix& matrix) {
  std::uint64_t hash = hash_mix(matrix.rows, matrix.columns);
  for (const double entry : matrix.entries)
    hash = hash_mix(hash, std::bit_cast<std::uint64_t>(entry));
  return hash;
}

}  // namespace

std::uint32_t MatrixPool::intern(CostMatrix matrix) {
  const std::uint64_t hash = hash_of(matrix);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    const CostMatrix& other = matrices_[known->second];
    if (other.rows == matrix.rows && other.entries == matrix.entries) return known->second;
  }
  const auto number = static_cast<std::uint32_t>(matrices_.size());
  matrices_.push_back(std::move(matrix));
  by_hash_.emplace(hash, number);
  return number;
}

}  // namespace shardwright::operators
