// Assertions for broken invariants; bad input is reported through Result, never through these.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace shardwright::internal {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace shardwright::internal

// Always on: for invariants whose cost is negligible beside the work they guard.
#define SHARDWRIGHT_CHECK(condition) \
  ((condition) ? void(0) : ::shardwright::internal::check_failed(#condition, __FILE__, __LINE__))

// Debug builds only: for invariants inside hot loops.
#ifdef NDEBUG
#define SHARDWRIGHT_DCHECK(condition) void(0)
#else
#define SHARDWRIGHT_DCHECK(condition) SHARDWRIGHT_CHECK(condition)
#endif
