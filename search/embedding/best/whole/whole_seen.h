// States of a tree of all plans from which everything was tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

namespace shardwright::embedding {

// 128 bits of a state. That two states have the same ones is not to be expected in the life of a
// machine; a certificate is checked without them.
class WholeDigest {
 public:
  void add(std::uint64_t word) {
    first_ = mixed(first_ ^ word);
    second_ = mixed(second_ + word * kOther);
  }
  std::uint64_t first() const { return first_; }
  friend bool operator==(const WholeDigest& a, const WholeDigest& b) {
    return a.first_ == b.first_ && a.second_ == b.second_;
  }

 private:
  static constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15ULL;

  // Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
  static std::uint64_t mixed(std::uint64_t word) {
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
  }

  std::uint64_t first_ = 1;
  std::uint64_t second_ = kOther;
};

// Thread safety: one thread at a time.
class WholeSeen {
 public:
  bool contains(const WholeDigest& state) const { return states_.count(state) > 0; }
  // Does nothing once there are very many: they take about 50 bytes each.
  void insert(const WholeDigest& state) {
    if (states_.size() < kMost) states_.insert(state);
  }

 private:
  static constexpr std::size_t kMost = 1U << 19;
  struct Hash {
    std::size_t operator()(const WholeDigest& state) const { return state.first(); }
  };
  std::unordered_set<WholeDigest, Hash> states_;
};

}  // namespace shardwright::embedding
