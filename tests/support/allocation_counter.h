// Counts every operator new of a test executable and makes a chosen one fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace shardwright::test_support {

// Numbers of allocations and requested bytes since the program began. A program that uses this
// header must link allocation_counter.cc, which replaces the global operators.
struct AllocationCounts {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
  std::int64_t live_bytes = 0;
};
AllocationCounts allocation_counts() noexcept;

// Makes the compiler assume that `value` is used. It may otherwise remove the allocations of an
// unused value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// Counts the allocations since its construction. Read the counts before a CHECK that may fail,
// since a failing CHECK allocates.
// Thread safety: const members may be called from any thread. Allocations of all threads are
// counted.
class AllocationScope {
 public:
  AllocationScope() noexcept : start_(allocation_counts()) {}

  std::uint64_t allocations() const noexcept {
    return allocation_counts().allocations - start_.allocations;
  }
  std::uint64_t bytes() const noexcept { return allocation_counts().bytes - start_.bytes; }
  std::int64_t live_bytes() const noexcept {
    return allocation_counts().live_bytes - start_.live_bytes;
  }

 private:
  AllocationCounts start_;
};

// During its lifetime, only the n-th allocation (n >= 1), counted over all threads, throws
// std::bad_alloc. Thread safety: one object at a time; any number of threads may allocate.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool failed() const noexcept;
  // Returns true if another thread than the one that made this object got the failed allocation.
  bool failed_elsewhere() const noexcept;
};

// Runs `operation` with only its first allocation failing, then only its second, and so on until it
// succeeds. Calls `after_failure` after each failure. Returns the number of failures.
template <class Operation, class AfterFailure>
std::uint64_t fail_every_allocation(const Operation& operation, const AfterFailure& after_failure) {
  for (std::uint64_t n = 1;; ++n) {
    bool failed = false;
    try {
      const FailingAllocation failing(n);
      operation();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) return n - 1;
    after_failure();
  }
}

}  // namespace shardwright::test_support
