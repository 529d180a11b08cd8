// Counts every operator new of a test executable and makes a chosen one fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

namespace shardwright::test_support {

// Allocations since the program began. Bytes are those asked for, without what malloc adds.
// Link allocation_counter.cc, which replaces the global operators, to use any of this.
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

// Counts what was allocated since the scope was made. Read it before a CHECK that may fail, since a
// failure allocates.
// Thread safety: const members may be called from any thread; all threads are counted.
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

// During its lifetime, the n-th allocation of any thread (n >= 1) throws std::bad_alloc. Exactly
// one allocation fails.
// Thread safety: one at a time; any number of threads may allocate.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::uint64_t n) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  bool failed() const noexcept;
  // Returns true if the failed allocation was made by another thread than this object was.
  bool failed_elsewhere() const noexcept;
};

// Runs `operation` with its first, second, ... allocation failing until it succeeds, calling
// `after_failure` after each failure. Returns the number of failures, which is the number of
// allocations.
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
