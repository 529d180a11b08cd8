#include "core/embedding/moves/moved_elements.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

// The begin and the length of what two intervals have in common.
std::pair<std::int64_t, std::int64_t> shared_interval(std::int64_t a, std::int64_t a_length,
                                                      std::int64_t b, std::int64_t b_length) {
  const std::int64_t begin = std::max(a, b);
  return {begin, std::max<std::int64_t>(std::min(a + a_length, b + b_length) - begin, 0)};
}

}  // namespace

TensorPart shared_part(const TensorPart& a, const TensorPart& b) {
  const auto [row, rows] = shared_interval(a.row, a.rows, b.row, b.rows);
  const auto [column, columns] = shared_interval(a.column, a.columns, b.column, b.columns);
  return {row, column, rows, columns};
}

std::vector<TensorPart> parts_of(const ShardLayout& layout) {
  std::vector<TensorPart> parts;
  parts.reserve(layout.num_shards);
  for (const ShardExtent& extent : layout.extents) {
    for (std::int64_t k = 0; k < extent.count; ++k) {
      parts.push_back({extent.row_offset + k * extent.row_step,
                       extent.column_offset + k * extent.column_step, extent.rows, extent.columns});
    }
  }
  return parts;
}

HeldParts::HeldParts(const PlacedLayout& placed) {
  if (placed.layout == nullptr) return;
  std::uint32_t shard = 0;
  for (const TensorPart& part : parts_of(*placed.layout))
    held_.push_back({placed.rank_of(shard++), part});
  std::stable_sort(held_.begin(), held_.end(),
                   [](const Held& a, const Held& b) { return a.rank < b.rank; });
}

std::int64_t HeldParts::missing(const TensorPart& part, std::int64_t rank) const {
  const std::int64_t area = part.area();
  std::int64_t there = 0;
  auto held = std::lower_bound(held_.begin(), held_.end(), rank,
                               [](const Held& a, std::int64_t b) { return a.rank < b; });
  for (; held != held_.end() && held->rank == rank; ++held)
    there += shared_part(part, held->part).area();
  return area - std::min(area, there);
}

std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to) {
  if (to.layout == nullptr) return 0;
  const HeldParts before(from);
  std::int64_t elements = 0;
  std::uint32_t shard = 0;
  for (const TensorPart& part : parts_of(*to.layout))
    elements += before.missing(part, to.rank_of(shard++));
  return elements;
}

std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits) {
  return elements / 8 * bits + elements % 8 * bits / 8;
}

}  // namespace shardwright::embedding
