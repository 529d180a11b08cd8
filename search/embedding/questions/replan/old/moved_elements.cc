#include "search/embedding/questions/replan/old/moved_elements.h"

#include <algorithm>
#include <vector>

namespace shardwright::embedding {
namespace {

// A part of a tensor that a rank holds.
struct Held {
  std::int64_t rank = 0;
  std::int64_t row = 0, column = 0, rows = 0, columns = 0;
};

std::vector<Held> parts(const PlacedLayout& placed) {
  std::vector<Held> held;
  if (placed.layout == nullptr) return held;
  held.reserve(placed.layout->num_shards);
  std::uint32_t shard = 0;
  for (const ShardExtent& extent : placed.layout->extents) {
    for (std::uint32_t k = 0; k < extent.count; ++k, ++shard) {
      const std::int64_t step = k;
      held.push_back({placed.rank_of(shard), extent.row_offset + step * extent.row_step,
                      extent.column_offset + step * extent.column_step, extent.rows,
                      extent.columns});
    }
  }
  return held;
}

std::int64_t shared_length(std::int64_t a, std::int64_t a_length, std::int64_t b,
                           std::int64_t b_length) {
  return std::max<std::int64_t>(std::min(a + a_length, b + b_length) - std::max(a, b), 0);
}

std::int64_t shared_area(const Held& a, const Held& b) {
  return shared_length(a.row, a.rows, b.row, b.rows) *
         shared_length(a.column, a.columns, b.column, b.columns);
}

}  // namespace

std::int64_t moved_elements(const PlacedLayout& from, const PlacedLayout& to) {
  std::vector<Held> before = parts(from);
  const auto by_rank = [](const Held& a, const Held& b) { return a.rank < b.rank; };
  std::stable_sort(before.begin(), before.end(), by_rank);
  std::int64_t elements = 0;
  for (const Held& part : parts(to)) {
    const std::int64_t area = part.rows * part.columns;
    std::int64_t there = 0;
    const auto [first, last] = std::equal_range(before.begin(), before.end(), part, by_rank);
    for (auto held = first; held != last; ++held)
      there += shared_area(part, *held);
    elements += area - std::min(area, there);
  }
  return elements;
}

std::int64_t bytes_of_elements(std::int64_t elements, std::int64_t bits) {
  return elements / 8 * bits + elements % 8 * bits / 8;
}

}  // namespace shardwright::embedding
