#include "perf/instr/allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace shardwright::perf {
namespace {

bool counting = false;
Allocations counted;

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (counting) {
    ++counted.count;
    counted.bytes += size;
  }
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const block = allocate(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void start_counting() noexcept {
  counted = {};
  counting = true;
}

Allocations stop_counting() noexcept {
  counting = false;
  return counted;
}

}  // namespace shardwright::perf

namespace perf = shardwright::perf;

// The array forms and the nothrow forms of operator new call these functions.
void* operator new(std::size_t size) { return perf::allocate_or_throw(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return perf::allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
