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
      : size_(std::bit_ceil(leaves)), nodes_(2 * size_, Node{kOut, 0}) {
    for (std::uint32_t leaf = 0; leaf < size_; ++leaf) nodes_[size_ + leaf].leaf = leaf;
  }

  // Sets a leaf without replaying its matches; rebuild() must follow.
  void set(std::uint32_t leaf, double load_ms) {
    nodes_[size_ + leaf].load = std::bit_cast<std::uint64_t>(load_ms);
  }
  void rebuild() {
    for (std::uint32_t node = size_ - 1; node > 0; --node) {
      const Node& left = nodes_[2 * node];
      const Node& right = nodes_[2 * node + 1];
      nodes_[node] = right.load < left.load ? right : left;
    }
  }

  std::uint32_t winner() const { return nodes_[1].leaf; }
  // Whether every leaf is out.
  bool empty() const { return nodes_[1].load == kOut; }

  void update(std::uint32_t leaf, double load_ms) {
    replay(leaf, std::bit_cast<std::uint64_t>(load_ms));
  }
  void take_out(std::uint32_t leaf) { replay(leaf, kOut); }

 private:
  struct Node {
    std::uint64_t load;
    std::uint64_t leaf;
  };

  // Written with masks: who wins is as good as random, and a mispredicted branch would cost more
  // than the whole replay.
  void replay(std::uint32_t leaf, std::uint64_t load) {
    Node* const nodes = nodes_.data();
    std::uint32_t node = leaf + size_;
    std::uint64_t own_load = load;
    std::uint64_t own_leaf = leaf;
    nodes[node].load = own_load;
    while (node > 1) {
      const Node& other = nodes[node ^ 1];
      // A right child loses ties.
      const std::uint64_t right = node & 1;
      const std::uint64_t loses = std::uint64_t{0} - static_cast<std::uint64_t>(other.load < own_load + right);
      own_load ^= (own_load ^ other.load) & loses;
      own_leaf ^= (own_leaf ^ other.leaf) & loses;
      node >>= 1;
      nodes[node].load = own_load;
      nodes[node].leaf = own_leaf;
    }
  }

  std::uint32_t size_;
  std::vector<Node> nodes_;  // 1 = root; node n plays nodes 2n and 2n+1; leaves from size_ on
};

}  // namespace shardwright::embedding
