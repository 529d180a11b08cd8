#include "tests/stress/soak/scarce_memory.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string_view>

namespace shardwright::soak {
namespace {

std::atomic<std::uint64_t> one_in{0};
std::atomic<std::uint64_t> allocations{0};
std::atomic<std::uint64_t> failed{0};
thread_local int ample = 0;

// Bytes that operator new has allocated and that are not freed, without those of Clp.
std::atomic<std::int64_t> in_use{0};

struct Code {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// The code of Clp and of CoinUtils, on which Clp is built. Empty if the library is not loaded.
using SolverCode = std::array<Code, 2>;
constexpr std::array<std::string_view, 2> kSolverLibraries{"/libClp.so", "/libCoinUtils.so"};

int note_solver_code(dl_phdr_info* library, std::size_t /*size*/, void* found) {
  auto& code = *static_cast<SolverCode*>(found);
  for (std::size_t i = 0; i < kSolverLibraries.size(); ++i) {
    if (std::string_view(library->dlpi_name).find(kSolverLibraries[i]) == std::string_view::npos)
      continue;
    for (ElfW(Half) k = 0; k < library->dlpi_phnum; ++k) {
      const ElfW(Phdr)& part = library->dlpi_phdr[k];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
      code[i].begin = library->dlpi_addr + part.p_vaddr;
      code[i].end = code[i].begin + part.p_memsz;
    }
  }
  return 0;
}

// Returns true if Clp allocates the block. If an allocation fails, Clp leaks earlier blocks, so its
// blocks are not counted.
bool is_solvers(const void* caller) noexcept {
  static const SolverCode code = [] {
    SolverCode found;
    dl_iterate_phdr(note_solver_code, &found);
    return found;
  }();
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  return std::any_of(code.begin(), code.end(),
                     [&](const Code& c) { return address >= c.begin && address < c.end; });
}

// Stored before every block that operator new returns.
struct alignas(std::max_align_t) Header {
  void* whole;                // the address to free
  std::int64_t counted_size;  // 0 if the block is not counted
};

bool must_fail() noexcept {
  const std::uint64_t n = one_in.load(std::memory_order_relaxed);
  if (n == 0 || ample > 0) return false;
  if ((allocations.fetch_add(1, std::memory_order_relaxed) + 1) % n != 0) return false;
  failed.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// `caller` is the return address of operator new.
void* allocate(std::size_t size, const void* caller, std::size_t alignment = sizeof(Header)) {
  const std::size_t before = std::max(alignment, sizeof(Header));
  const std::size_t whole_size = (size + before + alignment - 1) / alignment * alignment;
  void* const whole = must_fail() ? nullptr : std::aligned_alloc(alignment, whole_size);
  if (whole == nullptr) throw std::bad_alloc();
  std::byte* const block = static_cast<std::byte*>(whole) + before;
  const std::int64_t counted = is_solvers(caller) ? 0 : static_cast<std::int64_t>(size);
  new (block - sizeof(Header)) Header{whole, counted};
  in_use.fetch_add(counted, std::memory_order_relaxed);
  return block;
}

void* allocate_or_null(std::size_t size, const void* caller) noexcept {
  try {
    return allocate(size, caller);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  const auto* const header =
      reinterpret_cast<const Header*>(static_cast<std::byte*>(block) - sizeof(Header));
  in_use.fetch_sub(header->counted_size, std::memory_order_relaxed);
  std::free(header->whole);
}

}  // namespace

void fail_one_allocation_in(std::uint64_t n) noexcept { one_in = n; }

std::uint64_t num_failed_allocations() noexcept { return failed; }

std::int64_t allocated_bytes() noexcept { return in_use; }

AmpleMemory::AmpleMemory() noexcept { ++ample; }
AmpleMemory::~AmpleMemory() { --ample; }

}  // namespace shardwright::soak

using shardwright::soak::allocate;
using shardwright::soak::allocate_or_null;
using shardwright::soak::release;

void* operator new(std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new[](std::size_t size) { return allocate(size, __builtin_return_address(0)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, __builtin_return_address(0), static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, __builtin_return_address(0), static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, __builtin_return_address(0));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate_or_null(size, __builtin_return_address(0));
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
