// Random numbers for tests. They are the same on every platform.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "core/interner.h"

namespace shardwright::test_support {

// Source: SplitMix64 (Steele, Lea, Flood, 2014). std::uniform_int_distribution differs by library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return hash_mix(state_ += 0x9e3779b97f4a7c15ULL, 0); }
  // Returns a number in 0..bound-1. Small numbers are slightly more likely.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

 private:
  std::uint64_t state_;
};

// Returns the seeds of a property test: SHARDWRIGHT_TEST_SEED alone if it is set, else `fixed`.
inline std::vector<std::uint64_t> seeds(std::initializer_list<std::uint64_t> fixed) {
  const char* const text = std::getenv("SHARDWRIGHT_TEST_SEED");
  if (text == nullptr) return fixed;
  return {std::strtoull(text, nullptr, 0)};
}

}  // namespace shardwright::test_support
