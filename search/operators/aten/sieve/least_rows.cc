#include "search/operators/aten/sieve/least_rows.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace shardwright::operators {
namespace {

// Four rows at a time, so that results are read and written less often.
template <typename T>
[[gnu::always_inline]] inline void add_rows(const T* sent, const std::uint32_t* rows,
                                            std::size_t num_rows, const T* costs,
                                            std::size_t columns, T* least) {
  std::size_t r = 0;
  for (; r + 4 <= num_rows; r += 4) {
    const T* const a = costs + rows[r] * columns;
    const T* const b = costs + rows[r + 1] * columns;
    const T* const c = costs + rows[r + 2] * columns;
    const T* const d = costs + rows[r + 3] * columns;
    const T at_a = sent[rows[r]];
    const T at_b = sent[rows[r + 1]];
    const T at_c = sent[rows[r + 2]];
    const T at_d = sent[rows[r + 3]];
    for (std::size_t k = 0; k < columns; ++k) {
      const T ab = std::min(at_a + a[k], at_b + b[k]);
      const T cd = std::min(at_c + c[k], at_d + d[k]);
      least[k] = std::min(least[k], std::min(ab, cd));
    }
  }
  for (; r < num_rows; ++r) {
    const T* const row = costs + rows[r] * columns;
    const T own = sent[rows[r]];
    for (std::size_t k = 0; k < columns; ++k)
      least[k] = std::min(least[k], own + row[k]);
  }
}

#if defined(__x86_64__)
// Sums and minima are the same in wider registers: nothing is multiplied, so nothing is fused.
template <typename T>
[[gnu::target("avx2")]] void add_rows_wide(const T* sent, const std::uint32_t* rows,
                                           std::size_t num_rows, const T* costs,
                                           std::size_t columns, T* least) {
  add_rows(sent, rows, num_rows, costs, columns, least);
}

bool has_wide_registers() {
  static const bool kHas = __builtin_cpu_supports("avx2") != 0;
  return kHas;
}
#endif

template <typename T>
void find_least(const std::vector<T>& sent, const std::vector<std::uint32_t>& rows, const T* costs,
                std::vector<T>& least) {
  std::fill(least.begin(), least.end(), std::numeric_limits<T>::infinity());
#if defined(__x86_64__)
  if (has_wide_registers()) {
    add_rows_wide(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
    return;
  }
#endif
  add_rows(sent.data(), rows.data(), rows.size(), costs, least.size(), least.data());
}

}  // namespace

void least_rows(const std::vector<float>& sent, const std::vector<std::uint32_t>& rows,
                const float* costs, std::vector<float>& least) {
  find_least(sent, rows, costs, least);
}

void least_rows(const std::vector<double>& sent, const std::vector<std::uint32_t>& rows,
                const double* costs, std::vector<double>& least) {
  find_least(sent, rows, costs, least);
}

}  // namespace shardwright::operators
