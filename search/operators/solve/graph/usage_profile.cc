#include "search/operators/solve/graph/usage_profile.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace shardwright::operators {

UsageProfile::UsageProfile(std::span<const std::int64_t> limits)
    : num_times_(limits.size()),
      leaves_(std::bit_ceil(limits.size() + 2)),
      largest_(2 * leaves_, kNothing),
      added_(2 * leaves_, 0) {
  for (std::size_t t = 0; t < limits.size(); ++t)
    largest_[leaves_ + t + 1] = -limits[t];
  for (std::size_t i = leaves_ - 1; i > 0; --i)
    refresh(i);
}

void UsageProfile::refresh(std::size_t i) {
  largest_[i] = std::max(largest_[2 * i], largest_[2 * i + 1]) + added_[i];
}

void UsageProfile::add(std::size_t begin, std::size_t end, std::int64_t bytes) {
  if (bytes == 0) return;
  const auto raise = [&](std::size_t i) {
    largest_[i] += bytes;
    added_[i] += bytes;
  };
  // The vertices next to the rest of the range, on its left and right.
  std::size_t left = begin + leaves_, right = end + leaves_ + 1;
  while ((left ^ right) != 1) {
    if ((left & 1) == 0) raise(left + 1);
    if ((right & 1) == 1) raise(right - 1);
    left /= 2;
    right /= 2;
    refresh(left);
    refresh(right);
  }
  while ((left /= 2) > 0)
    refresh(left);
}

std::int64_t UsageProfile::max_excess(std::size_t begin, std::size_t end) const {
  std::int64_t from_left = kNothing, from_right = kNothing;
  std::size_t left = begin + leaves_, right = end + leaves_ + 1;
  while ((left ^ right) != 1) {
    if ((left & 1) == 0) from_left = std::max(from_left, largest_[left + 1]);
    if ((right & 1) == 1) from_right = std::max(from_right, largest_[right - 1]);
    left /= 2;
    right /= 2;
    from_left += added_[left];
    from_right += added_[right];
  }
  std::int64_t largest = std::max(from_left, from_right);
  while ((left /= 2) > 0)
    largest += added_[left];
  return largest;
}

std::size_t UsageProfile::most_exceeded(std::size_t begin, std::size_t end) const {
  const std::int64_t largest = max_excess(begin, end);
  // Descends to the first time point that has the maximum.
  while (end - begin > 1) {
    const std::size_t middle = begin + (end - begin) / 2;
    if (max_excess(begin, middle) == largest) {
      end = middle;
    } else {
      begin = middle;
    }
  }
  return begin;
}

}  // namespace shardwright::operators
