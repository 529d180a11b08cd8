// A tournament over devices: the least loaded one in O(1), a change in O(log devices).
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright::embedding {

// Leaves hold a load in ms; the winner is the leaf of least load, the smaller index on ties. A leaf
// with infinite load takes no part.
// Thread safety: none; one per worker.
class DeviceTree {
 public:
  static constexpr double kOut = std::numeric_limits<double>::infinity();

  // `count` leaves, all with the same load. O(count).
  void reset(std::uint32_t count, double load) {
    size_ = std::bit_ceil(count == 0 ? 1U : count);
    load_.assign(size_, kOut);
    for (std::uint32_t i = 0; i < count; ++i) load_[i] = load;
    winner_.resize(size_);
  }
  // Sets a leaf without replaying its matches; rebuild() must follow.
  void set(std::uint32_t leaf, double load) { load_[leaf] = load; }
  void rebuild() {
    for (std::uint32_t node = size_ - 1; node > 0; --node) {
      winner_[node] = match(contender(2 * node), contender(2 * node + 1));
    }
  }

  std::uint32_t winner() const { return size_ == 1 ? 0 : winner_[1]; }
  double load(std::uint32_t leaf) const { return load_[leaf]; }

  void update(std::uint32_t leaf, double load) {
    load_[leaf] = load;
    for (std::uint32_t node = (leaf + size_) / 2; node > 0; node /= 2) {
      winner_[node] = match(contender(2 * node), contender(2 * node + 1));
    }
  }

 private:
  std::uint32_t contender(std::uint32_t node) const {
    return node >= size_ ? node - size_ : winner_[node];
  }
  std::uint32_t match(std::uint32_t a, std::uint32_t b) const { return load_[b] < load_[a] ? b : a; }

  std::uint32_t size_ = 1;
  std::vector<double> load_;
  std::vector<std::uint32_t> winner_;
};

}  // namespace shardwright::embedding
