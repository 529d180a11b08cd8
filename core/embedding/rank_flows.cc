#include "core/embedding/rank_flows.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "core/units.h"

namespace shardwright::embedding {
namespace {

// Returns the begin and the length of the intersection of two intervals.
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

MoveCharges::MoveCharges(const HeldPlan* held) {
  if (held == nullptr || held->weight == 0) return;
  per_byte_ = held->weight / static_cast<double>(kGibibyte);
  for (const std::optional<HeldTable>& own : held->tables) {
    std::optional<Table>& table = tables_.emplace_back();
    if (!own) continue;
    const bool is_known = own->layout && own->layout->num_shards == own->ranks.size();
    table.emplace(Table{HeldParts({is_known ? &*own->layout : nullptr,
                                   [&](std::uint32_t shard) { return own->ranks[shard]; }}),
                        own->element_bits});
  }
}

double MoveCharges::charge(TableId table, const TensorPart& part, Rank rank) const {
  const Table& own = *tables_[table.index()];
  const std::int64_t elements = own.parts.missing(part, rank);
  return per_byte_ * static_cast<double>(bytes_of_elements(elements, own.element_bits));
}

namespace {

constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

// A part of a table, and the ranks that hold it.
struct Source {
  TensorPart part;
  std::vector<std::int64_t> ranks;  // ascending
};

// Returns the distinct parts by row, then column. O(shards log shards).
std::vector<Source> sources_of(const PlacedLayout& placed) {
  std::vector<std::pair<TensorPart, std::int64_t>> shards;
  std::uint32_t shard = 0;
  for (const TensorPart& part : parts_of(*placed.layout)) {
    const std::int64_t rank = placed.rank_of(shard++);
    if (part.rows > 0 && part.columns > 0) shards.emplace_back(part, rank);
  }
  const auto key = [](const auto& shard_on_rank) {
    const auto& [part, rank] = shard_on_rank;
    return std::tuple(part.row, part.column, part.rows, part.columns, rank);
  };
  std::sort(shards.begin(), shards.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<Source> sources;
  for (const auto& [part, rank] : shards) {
    if (sources.empty() || !(sources.back().part == part)) sources.push_back({part, {}});
    std::vector<std::int64_t>& ranks = sources.back().ranks;
    if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
  }
  return sources;
}

std::int64_t closest(const std::vector<std::int64_t>& ranks, std::int64_t rank) {
  const auto above = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (above == ranks.begin()) return *above;
  if (above == ranks.end()) return *(above - 1);
  return *above - rank < rank - *(above - 1) ? *above : *(above - 1);
}

}  // namespace

void RankFlows::add(const PlacedLayout& from, const PlacedLayout& to, std::int64_t bits) {
  if (from.layout == nullptr || to.layout == nullptr) return;
  const std::vector<Source> sources = sources_of(from);
  const HeldParts held(from);
  std::int64_t tallest = 0;
  for (const Source& source : sources)
    tallest = std::max(tallest, source.part.rows);
  std::uint32_t shard = 0;
  for (const TensorPart& part : parts_of(*to.layout)) {
    const std::int64_t rank = to.rank_of(shard++);
    if (rank >= ranks_) continue;
    auto source =
        std::lower_bound(sources.begin(), sources.end(), part.row - tallest + 1,
                         [](const Source& a, std::int64_t row) { return a.part.row < row; });
    for (; source != sources.end() && source->part.row < part.row + part.rows; ++source) {
      const TensorPart shared = shared_part(part, source->part);
      const std::int64_t elements = held.missing(shared, rank);
      const std::int64_t sender = closest(source->ranks, rank);
      if (elements == 0 || sender >= ranks_) continue;
      std::int64_t& sum =
          bytes_[static_cast<std::size_t>(sender / block_ * num_blocks_ + rank / block_)];
      if (__builtin_add_overflow(sum, bytes_of_elements(elements, bits), &sum)) sum = kMostBytes;
    }
  }
}

}  // namespace shardwright::embedding
