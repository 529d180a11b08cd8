// Random decisions of the mutators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace shardwright::fuzz {

// Thread safety: one thread at a time.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : generator_(seed) {}

  std::uint64_t bits() { return generator_(); }
  // Returns a number below `count`, which must not be 0. Small numbers are slightly more likely.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  // Returns any element. Precondition: the list is not empty.
  template <class List>
  auto& of(List& list) {
    return list[below(list.size())];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace shardwright::fuzz
