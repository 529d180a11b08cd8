#include "search/operators/aten/sieve/least_rows.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace shardwright::operators {
namespace {

// Four rows at a time, so that results are read and written less often.
[[gnu::always_inline]] inline void add_rows(const float* sent, const std::uint32_t* rows,
                                            std::size_t num_rows, const float* costs,
                                            std::size_t columns, float* least) {
  std::size_t r = 0;
  for (; r + 4 <= num_rows; r += 4) {
    const float* const a = costs + rows[r] * columns;
    const float* const b = costs + rows[r + 1] * columns;
    const float* const c = costs + rows[r + 2] * columns;
    const float* const d = costs + rows[r + 3] * columns;
    const float at_a = sent[rows[r]];
    const float at_b = sent[rows[r + 1]];
    const float at_c = sent[rows[r + 2]];
    const float at_d = sent[rows[r + 3]];
    for (std::size_t k = 0; k < columns; ++k) {
      const float ab = std::min(at_a + a[k], at_b + b[k]);
      const float cd = std::min(at_c + c[k], at_d + d[k]);
      least[k] = std::min(least[k], std::min(ab, cd));
    }
  }
  for (; r < num_rows; ++r) {
    const float* const row = costs + rows[r] * columns;
    const float own = sent[rows[r]];
    for (std::size_t k = 0; k < columns; ++k)
      least[k] = std::min(least[k], own + row[k]);
  }
}

#if defined(__x86_64__)
// Sums and minima are the same in wider registers: nothing is multiplied, so nothing is fused.
[[gnu::target("avx2")]] void add_rows_wide(const float* sent, const std::uint32_t* rows,
                                           std::size_t num_rows, const float* costs,
                                           std::size_t columns, float* least) {
  add_rows(sent, rows, num_rows, costs, columns, least);
}

bool has_wide_registers() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

}  // namespace

void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least) {
  std::fill(least.begin(), least.end(), std::numeric_limits<float>::infinity());
#if defined(__x86_64__)
  if (has_wide_registers()) {
    add_rows_wide(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
    return;
  }
#endif
  add_rows(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
}

}  // namespace shardwright::operators
