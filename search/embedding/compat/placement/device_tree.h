// A tournament tree over devices: finds the least loaded one in O(1) and takes a change in O(log
// devices).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright::embedding {

// Leaves hold a load in ms, zero or above. The winner is the leaf of least load, the smaller index
// on ties. A leaf that is out takes no part. Loads are compared as the bits of the double, which
// order like the numbers if these are not negative. Winners are selected by masks instead of
// branches: who wins is close to random, and a mispredicted branch would cost more than the whole
// replay.
// Thread safety: none; one per worker.
class DeviceTree {
 public:
  explicit DeviceTree(std::uint32_t leaves)
      : size_(std::bit_ceil(leaves)), load_(size_, kOut), winner_(2 * std::size_t{size_}, 0) {
    for (std::uint32_t leaf = 0; leaf < size_; ++leaf)
      winner_[size_ + leaf] = leaf;
    rebuild();
  }

  // Sets a leaf without replaying its matches; rebuild() must follow.
  void set(std::uint32_t leaf, double load_ms) {
    load_[leaf] = std::bit_cast<std::uint64_t>(load_ms);
  }
  void rebuild() {
    for (std::uint32_t node = size_ - 1; node > 0; --node) {
      const std::uint32_t children = 2 * node;
      const std::uint32_t left = winner_[children];
      const std::uint32_t right = winner_[children + 1];
      winner_[node] = load_[right] < load_[left] ? right : left;
    }
  }

  std::uint32_t winner() const { return winner_[1]; }
  // Returns true if every leaf is out.
  bool empty() const { return load_[winner_[1]] == kOut; }

  // Both return the winner.
  std::uint32_t update(std::uint32_t leaf, double load_ms) {
    return replay(leaf, std::bit_cast<std::uint64_t>(load_ms));
  }
  std::uint32_t take_out(std::uint32_t leaf) { return replay(leaf, kOut); }
  bool is_out(std::uint32_t leaf) const { return load_[leaf] == kOut; }

 private:
  static constexpr std::uint64_t kOut =
      std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());

  std::uint32_t replay(std::uint32_t leaf, std::uint64_t load) {
    std::uint64_t* const loads = load_.data();
    std::uint32_t* const winners = winner_.data();
    loads[leaf] = load;
    std::uint32_t best = leaf;
    for (std::uint32_t node = leaf + size_; node > 1;) {
      const std::uint32_t rival = winners[node ^ 1];
      const std::uint64_t rival_load = loads[rival];
      // A right child loses ties.
      const bool loses = rival_load < load + (node & 1);
      best ^= (best ^ rival) & (std::uint32_t{0} - static_cast<std::uint32_t>(loses));
      load = std::min(load, rival_load);
      node >>= 1;
      winners[node] = best;
    }
    return best;
  }

  std::uint32_t size_;
  std::vector<std::uint64_t> load_;  // by leaf
  std::vector<std::uint32_t>
      winner_;  // by node: 1 = root; n plays 2n and 2n + 1; leaves from size_
};

}  // namespace shardwright::embedding
