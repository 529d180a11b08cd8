// Arithmetic whose results must equal those of Python to the last bit.
#pragma once

#include <cstdint>
#include <span>

namespace shardwright {

__extension__ using WideUnsigned = unsigned __int128;

// n / d rounded to the nearest double, ties to even. Source: Python's int / int.
// Preconditions: n < 2^118, 0 < d < 2^63.
double true_divide(WideUnsigned n, std::uint64_t d);

// Returns the result of adding `value` to `sum` `count` times, where each addition rounds to
// nearest. Takes O(log count) steps. Preconditions: `sum` and `value` are finite and not negative.
double add_repeatedly(double sum, double value, std::uint64_t count);

// Returns the double nearest to the exact mean. Preconditions: there is at least one value, and all
// are finite. O(values) for values of similar magnitude. Source: Python's statistics.mean.
double exact_mean(std::span<const double> values);

}  // namespace shardwright
