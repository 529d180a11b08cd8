// operator new on top of malloc, which is mimalloc's. mimalloc's own operators abort if memory runs
// out, since mimalloc is compiled as C and cannot throw.
#include <cstdlib>
#include <new>

#ifdef SHARDWRIGHT_WITH_MIMALLOC

namespace {

void* or_throw(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* aligned(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return or_throw(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}

}  // namespace

// mimalloc's operator delete can free these blocks.
void* operator new(std::size_t size) { return or_throw(std::malloc(size)); }
void* operator new[](std::size_t size) { return or_throw(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return aligned(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return aligned(size, alignment);
}

#endif
