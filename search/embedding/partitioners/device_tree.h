// A tournament over devices: the least loaded one in O(1), a change in O(log devices).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright::embedding {

// Leaves hold a load in ms, zero or above; the winner is the leaf of least load, the smaller index
// on ties. A leaf that is out takes no part.
// Loads are kept as the bits of the double: for numbers that are not negative these order like the
// numbers, and comparing and selecting integers is what the chain of dependent placements waits for.
// Thread safety: none; one per worker.
class DeviceTree {
 public:
  static constexpr std::uint64_t kOut = std::bit_cast<std::uint64_t>(
      std::numeric_limits<double>::infinity());

  explicit DeviceTree(std::uint32_t leaves)
      : size_(std::bit_ceil(leaves)), load_(size_, kOut), winner_(2 * size_, 0) {
    for (std::uint32_t leaf = 0; leaf < size_; ++leaf) winner_[size_ + leaf] = leaf;
    rebuild();
  }

  // Sets a leaf without replaying its matches; rebuild() must follow.
  void set(std::uint32_t leaf, double load_ms) { load_[leaf] = std::bit_cast<std::uint64_t>(load_ms); }
  void rebuild() {
    for (std::uint32_t node = size_ - 1; node > 0; --node) {
      const std::uint32_t left = winner_[2 * node];
      const std::uint32_t right = winner_[2 * node + 1];
      winner_[node] = load_[right] < load_[left] ? right : left;
    }
  }

  std::uint32_t winner() const { return winner_[1]; }
  // Whether every leaf is out.
  bool empty() const { return load_[winner_[1]] == kOut; }

  void update(std::uint32_t leaf, double load_ms) {
    replay(leaf, std::bit_cast<std::uint64_t>(load_ms));
  }
  void take_out(std::uint32_t leaf) { replay(leaf, kOut); }

 private:
  void replay(std::uint32_t leaf, std::uint64_t load) {
    load_[leaf] = load;
    const std::uint64_t* const loads = load_.data();
    std::uint32_t* const winners = winner_.data();
    std::uint32_t best = leaf;
    for (std::uint32_t node = leaf + size_; node > 1;) {
      const std::uint32_t rival = winners[node ^ 1];
      const std::uint64_t rival_load = loads[rival];
      // A right child loses ties. Who wins is as good as random, and a mispredicted branch would
      // cost more than the whole replay: the compiler is told to select.
      const bool loses =
          __builtin_expect_with_probability(rival_load < load + (node & 1) ? 1 : 0, 1, 0.5) != 0;
      best = loses ? rival : best;
      load = loses ? rival_load : load;
      node >>= 1;
      winners[node] = best;
    }
  }

  std::uint32_t size_;
  std::vector<std::uint64_t> load_;     // by leaf
  std::vector<std::uint32_t> winner_;  // by node: 1 = root; n plays 2n and 2n + 1; leaves from size_
};

}  // namespace shardwright::embedding
