#include "core/embedding/ranks_sha1.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace shardwright::embedding {

// Collects digits in a buffer, because a call of the hash for every few bytes would dominate the
// running time.
template <class RankOf>
void RanksSha1::add(std::uint32_t shards, const RankOf& rank_of) {
  constexpr std::size_t kLongest = 11;  // ten digits and a separator
  std::array<char, 1024> buffer;
  char* at = buffer.data();
  char* const full = buffer.data() + buffer.size() - 2 * kLongest;
  if (!first_) *at++ = ';';
  first_ = false;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    if (shard > 0) *at++ = ',';
    at = std::to_chars(at, buffer.data() + buffer.size(), rank_of(shard)).ptr;
    if (at < full) continue;
    sha1_.update(std::string_view(buffer.data(), static_cast<std::size_t>(at - buffer.data())));
    at = buffer.data();
  }
  sha1_.update(std::string_view(buffer.data(), static_cast<std::size_t>(at - buffer.data())));
}

void RanksSha1::option(std::span<const Rank> ranks) {
  add(static_cast<std::uint32_t>(ranks.size()), [&](std::uint32_t shard) { return ranks[shard]; });
}

void RanksSha1::option_in_rank_order(std::uint32_t shards) {
  add(shards, [](std::uint32_t shard) { return shard; });
}

std::string ranks_sha1(const Plan& plan) {
  RanksSha1 sha1;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Assignment& assignment = plan[i];
    if (assignment.ranks.size() == 0) {
      sha1.option_in_rank_order(assignment.option->num_shards());
    } else {
      sha1.option(assignment.ranks.view());
    }
  }
  return sha1.finish();
}

}  // namespace shardwright::embedding
