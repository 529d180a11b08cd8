// Assertions for broken invariants. Bad input is reported through Result instead.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace shardwright::internal {

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace shardwright::internal

// Enabled in every build. For checks that are cheap compared with the work that they guard.
#define SHARDWRIGHT_CHECK(condition) \
  ((condition) ? void(0) : ::shardwright::internal::check_failed(#condition, __FILE__, __LINE__))

// Enabled in debug builds only. Use this macro inside hot loops.
#ifdef NDEBUG
#define SHARDWRIGHT_DCHECK(condition) void(0)
#else
#define SHARDWRIGHT_DCHECK(condition) SHARDWRIGHT_CHECK(condition)
#endif
