#include "tests/stress/soak/scarce_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace shardwright::soak {
namespace {

std::atomic<std::uint64_t> one_in{0};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> failed{0};
thread_local int ample = 0;

// Of everything that operator new gave out.
std::atomic<std::int64_t> in_use{0};

bool must_fail() noexcept {
  const std::uint64_t n = one_in.load(std::memory_order_relaxed);
  if (n == 0 || ample > 0) return false;
  if ((allocations.fetch_add(1, std::memory_order_relaxed) + 1) % n != 0) return false;
  failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  in_use.fetch_add(static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  return block;
}

void* allocate(std::size_t size) {
  void* const block = must_fail() ? nullptr : std::malloc(size == 0 ? 1 : size);
  return counted(block);
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  void* const block = must_fail() ? nullptr : std::aligned_alloc(alignment, whole);
  return counted(block);
}

void* allocate_or_null(std::size_t size) noexcept {
  try {
    return allocate(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release(void* block) noexcept {
  in_use.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

void fail_one_allocation_in(std::uint64_t n) noexcept { one_in = n; }

std::uint64_t num_failed_allocations() noexcept { return failed; }

std::int64_t allocated_bytes() noexcept { return in_use; }

AmpleMemory::AmpleMemory() noexcept { ++ample; }
AmpleMemory::~AmpleMemory() { --ample; }

}  // namespace shardwright::soak

using shardwright::soak::allocate;
using shardwright::soak::allocate_aligned;
using shardwright::soak::allocate_or_null;
using shardwright::soak::release;

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_aligned(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_aligned(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size);
}
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }

// Clp loses what its constructors have when an allocation fails.
extern "C" const char* __lsan_default_suppressions() { return "leak:libClp\nleak:libCoinUtils\n"; }
