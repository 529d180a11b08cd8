#include "core/embedding/moves/rank_flows.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

// A part of a table, and the ranks that hold it.
struct Source {
  TensorPart part;
  std::vector<std::int64_t> ranks;  // ascending
};

// By rows, then columns. O(shards log shards).
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
