#include "core/embedding/moves/moved_elements.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

std::int64_t shared_length(std::int64_t a, std::int64_t a_length, std::int64_t b,
                           std::int64_t b_length) {
  return std::max<std::int64_t>(std::min(a + a_length, b + b_length) - std::max(a, b), 0);
}

std::int64_t shared_area(const TensorPart& a, const TensorPart& b) {
  return shared_length(a.row, a.rows, b.row, b.rows) *
         shared_length(a.column, a.columns, b.column, b.columns);
}

}  // namespace

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
  const std::int64_t area = part.rows * part.columns;
  std::int64_t there = 0;
  auto held = std::lower_bound(held_.begin(), held_.end(), rank,
                               [](const Held& a, std::int64_t b) { return a.rank < b; });
  for (; held != held_.end() && held->rank == rank; ++held)
    there += shared_area(part, held->part);
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
