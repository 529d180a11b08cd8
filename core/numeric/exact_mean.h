// The mean of doubles, rounded once.
#pragma once

#include <span>

namespace shardwright {

// The double nearest to the exact mean: what Python's statistics.mean gives. Precondition: finite
// values, at least one. O(values) for values of similar size.
double exact_mean(std::span<const double> values);

}  // namespace shardwright
