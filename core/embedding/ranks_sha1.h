// The fingerprint of a placement, as the recorded answers of TorchRec's planner carry it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/embedding/plan.h"
#include "core/hash/sha1.h"

namespace shardwright::embedding {

// SHA-1 over the ranks in decimal: shards joined by ',', options by ';', in proposal order; the
// first 16 hexadecimal digits. Options are given one after the other.
// Thread safety: a value.
class RanksSha1 {
 public:
  // The ranks of the next option's shards. O(shards), does not allocate.
  void option(std::span<const Rank> ranks);
  // The same for `shards` shards with shard i on rank i.
  void option_in_rank_order(std::uint32_t shards);

  // Ends the message.
  std::string finish() { return sha1_.hex(16); }

 private:
  template <class RankOf>
  void add(std::uint32_t shards, const RankOf& rank_of);

  Sha1 sha1_;
  bool first_ = true;
};

// Of a whole plan. O(shards).
std::string ranks_sha1(const Plan& plan);

}  // namespace shardwright::embedding
