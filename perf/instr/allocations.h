// Counts heap allocations of the measured part of this program.
#pragma once

#include <cstdint>

namespace shardwright::perf {

// `bytes` sums the requested sizes, without the overhead of malloc.
struct Allocations {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Counts the allocations between the two calls. Linking allocations.cc replaces the global
// operators new. Thread safety: only one thread may allocate.
void start_counting() noexcept;
Allocations stop_counting() noexcept;

}  // namespace shardwright::perf
