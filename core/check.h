// Assertions for broken invariants. Bad input is reported through Result, never through these.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace shardwright::internal {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace shardwright::internal

// Enabled in every build. Use it if the check costs little compared with the work that it guards.
#define SHARDWRIGHT_CHECK(condition) \
  ((condition) ? void(0) : ::shardwright::internal::check_failed(#condition, __FILE__, __LINE__))

// Enabled in debug builds only. Use it inside hot loops.
#ifdef NDEBUG
#define SHARDWRIGHT_DCHECK(condition) void(0)
#else
#define SHARDWRIGHT_DCHECK(condition) SHARDWRIGHT_CHECK(condition)
#endif
