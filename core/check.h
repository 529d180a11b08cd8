// Assertions for broken invariants. Bad input is reported through Result, never through these
// macros.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace shardwright::internal {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace shardwright::internal

// Enabled in every build. Use this macro if the check is cheap compared with the work that it
// guards.
#define SHARDWRIGHT_CHECK(condition) \
  ((condition) ? void(0) : ::shardwright::internal::check_failed(#condition, __FILE__, __LINE__))

// Enabled in debug builds only. Use this macro inside hot loops.
#ifdef NDEBUG
#define SHARDWRIGHT_DCHECK(condition) void(0)
#else
#define SHARDWRIGHT_DCHECK(condition) SHARDWRIGHT_CHECK(condition)
#endif
