// Replaces the global operator new, so that single allocations of the whole process fail and all
// are counted.
#pragma once

#include <cstdint>

namespace shardwright::soak {

// From now on about one allocation in `n` throws std::bad_alloc, on whichever thread; 0 = none.
void fail_one_allocation_in(std::uint64_t n) noexcept;

std::uint64_t num_failed_allocations() noexcept;

// What operator new gave out and operator delete did not get back, apart from what Clp asked for:
// it loses memory when an allocation fails.
std::int64_t allocated_bytes() noexcept;

// While one exists, the allocations of its thread do not fail.
class AmpleMemory {
 public:
  AmpleMemory() noexcept;
  ~AmpleMemory();
  AmpleMemory(const AmpleMemory&) = delete;
  AmpleMemory& operator=(const AmpleMemory&) = delete;
};

}  // namespace shardwright::soak
