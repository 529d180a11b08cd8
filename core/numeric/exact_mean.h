// The mean of doubles, rounded once.
#pragma once

#include <span>

namespace shardwright {

// The double nearest to the exact mean. Precondition: at least one value, all finite. O(values) for
// values of similar size. Source: Python's statistics.mean.
double exact_mean(std::span<const double> values);

}  // namespace shardwright
