#include "tests/support/allocation_counter.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>

namespace shardwright::test_support {
namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> bytes{0};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::uint64_t> until_failure{0};  // allocations until one fails; 0 = none fails
std::atomic<bool> has_failed{false};
std::atomic<bool> has_failed_elsewhere{false};
std::atomic<std::thread::id> failing_for{};

// The size of a block is stored before it, in a header large enough to keep the block aligned.
std::size_t header(std::size_t alignment) {
  return std::max<std::size_t>(alignment, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}

// Returns true if this is the allocation that must fail. Exactly one of several threads takes the
// last count.
bool must_fail() noexcept {
  std::uint64_t left = until_failure.load(std::memory_order_relaxed);
  while (left != 0 && !until_failure.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 1) return false;
  has_failed_elsewhere = std::this_thread::get_id() != failing_for.load();
  has_failed = true;
  return true;
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (must_fail()) return nullptr;
  const std::size_t room = header(alignment);
  const std::size_t total = (room + size + room - 1) / room * room;
  void* const memory = std::aligned_alloc(room, total);
  if (memory == nullptr) return nullptr;
  *static_cast<std::size_t*>(memory) = size;
  allocations.fetch_add(1, std::memory_order_relaxed);
  bytes.fetch_add(size, std::memory_order_relaxed);
  live_bytes.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
  return static_cast<char*>(memory) + room;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void deallocate(void* block, std::size_t alignment) noexcept {
  if (block == nullptr) return;
  void* const memory = static_cast<char*>(block) - header(alignment);
  live_bytes.fetch_sub(static_cast<std::int64_t>(*static_cast<std::size_t*>(memory)),
                       std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

AllocationCounts allocation_counts() noexcept {
  return {allocations.load(std::memory_order_relaxed), bytes.load(std::memory_order_relaxed),
          live_bytes.load(std::memory_order_relaxed)};
}

FailingAllocation::FailingAllocation(std::uint64_t n) noexcept {
  has_failed = false;
  has_failed_elsewhere = false;
  failing_for = std::this_thread::get_id();
  until_failure = n;
}
FailingAllocation::~FailingAllocation() { until_failure = 0; }
bool FailingAllocation::failed() const noexcept { return has_failed; }
bool FailingAllocation::failed_elsewhere() const noexcept { return has_failed_elsewhere; }

}  // namespace shardwright::test_support

namespace support = shardwright::test_support;

// All forms are replaced: the library's operator delete does not know the header of these blocks.
void* operator new(std::size_t size) { return support::allocate_or_throw(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return support::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size) { return support::allocate_or_throw(size, 1); }
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return support::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return support::allocate(size, 1);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return support::allocate(size, 1);
}
void operator delete(void* block) noexcept { support::deallocate(block, 1); }
void operator delete(void* block, std::size_t) noexcept { support::deallocate(block, 1); }
void operator delete(void* block, const std::nothrow_t&) noexcept { support::deallocate(block, 1); }
void operator delete(void* block, std::align_val_t alignment) noexcept {
  support::deallocate(block, static_cast<std::size_t>(alignment));
}
void operator delete(void* block, std::size_t, std::align_val_t alignment) noexcept {
  support::deallocate(block, static_cast<std::size_t>(alignment));
}
void operator delete[](void* block) noexcept { support::deallocate(block, 1); }
void operator delete[](void* block, std::size_t) noexcept { support::deallocate(block, 1); }
void operator delete[](void* block, const std::nothrow_t&) noexcept {
  support::deallocate(block, 1);
}
void operator delete[](void* block, std::align_val_t alignment) noexcept {
  support::deallocate(block, static_cast<std::size_t>(alignment));
}
void operator delete[](void* block, std::size_t, std::align_val_t alignment) noexcept {
  support::deallocate(block, static_cast<std::size_t>(alignment));
}

// Clp leaks what its constructors have allocated if a later allocation in them fails.
extern "C" const char* __lsan_default_suppressions() { return "leak:libClp\nleak:libCoinUtils\n"; }
