// Replaces the global operator new, so that it can fail allocations of the whole process and count
// the bytes.
#pragma once

#include <cstdint>

namespace shardwright::soak {

// From now on about one allocation in `n`, on any thread, throws std::bad_alloc. 0 ends the
// failures.
void fail_one_allocation_in(std::uint64_t n) noexcept;

std::uint64_t num_failed_allocations() noexcept;

// Returns the bytes that are allocated and not freed. Those of Clp do not count, because it leaks
// memory if an allocation fails.
std::int64_t allocated_bytes() noexcept;

// While an object exists, allocations of its thread do not fail.
class AmpleMemory {
 public:
  AmpleMemory() noexcept;
  ~AmpleMemory();
  AmpleMemory(const AmpleMemory&) = delete;
  AmpleMemory& operator=(const AmpleMemory&) = delete;
};

}  // namespace shardwright::soak
