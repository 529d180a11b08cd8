// Counts what the measured part of this program takes from the heap.
#pragma once

#include <cstdint>

namespace shardwright::perf {

// Bytes are those asked for, without what malloc adds.
struct Allocations {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};

// Counting is on between these two. Linking allocations.cc replaces the global operators new.
// Thread safety: one thread allocates; measured programs have no other.
void start_counting() noexcept;
Allocations stop_counting() noexcept;

}  // namespace shardwright::perf
