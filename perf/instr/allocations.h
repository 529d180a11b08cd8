// Counts heap allocations of the measured part of this program.
#pragma once

#include <cstdint>

namespace shardwright::perf {

// Requested bytes, without the overhead of malloc.
struct Allocations {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Allocations between these two calls are counted. Linking allocations.cc replaces the global
// operators new. Thread safety: one thread allocates; measured programs have no other.
void start_counting() noexcept;
Allocations stop_counting() noexcept;

}  // namespace shardwright::perf
