// Arithmetic that must agree with a peer to the last bit.
#pragma once

#include <cstdint>

namespace shardwright {

__extension__ using WideUnsigned = unsigned __int128;

// n / d rounded to the nearest double, ties to even: what Python's int / int gives.
// Preconditions: n < 2^118, 0 < d < 2^63.
double true_divide(WideUnsigned n, std::uint64_t d);

// `sum` after adding `value` to it `count` times, each addition rounded as IEEE 754 rounds it: the
// result of the loop, in O(log count) steps. Preconditions: both finite, not negative.
double add_repeatedly(double sum, double value, std::uint64_t count);

}  // namespace shardwright
