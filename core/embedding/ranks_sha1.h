// A digest of the ranks of a plan. Recorded answers of TorchRec contain this digest.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/embedding/plan.h"
#include "core/hash/sha1.h"

namespace shardwright::embedding {

// The first 16 hexadecimal digits of a SHA-1 over the ranks, written in decimal in proposal order.
// Ranks of one option are joined by ',', options by ';'.
// Thread safety: a value.
class RanksSha1 {
 public:
  // Adds the next option, with one rank per shard. O(shards), does not allocate.
  void option(std::span<const Rank> ranks);
  // Adds the next option, with shard i on rank i.
  void option_in_rank_order(std::uint32_t shards);

  // Returns the digest. Call it once, after the last option.
  std::string finish() { return sha1_.hex(16); }

 private:
  template <class RankOf>
  void add(std::uint32_t shards, const RankOf& rank_of);

  Sha1 sha1_;
  bool first_ = true;
};

// Returns the digest of a whole plan. O(shards).
std::string ranks_sha1(const Plan& plan);

}  // namespace shardwright::embedding
