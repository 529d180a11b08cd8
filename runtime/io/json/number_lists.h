// Lists of number lists in contiguous memory; DistinctLists stores equal lists once.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

namespace shardwright {

// Number lists in one array, with the end of each list.
// Thread safety: as std::vector.
template <class T>
class NumberLists {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const T> operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {numbers_.data() + begin, ends_[i] - begin};
  }

  void push_number(T number) { numbers_.push_back(number); }
  void end_list() { ends_.push_back(numbers_.size()); }
  // Returns the numbers pushed since the last end_list().
  std::span<const T> open_list() const {
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    return {numbers_.data() + begin, numbers_.size() - begin};
  }
  void drop_open_list() { numbers_.resize(ends_.empty() ? 0 : ends_.back()); }

 private:
  std::vector<T> numbers_;
  std::vector<std::size_t> ends_;
};

// Stores equal lists once. Lists are numbered by first appearance.
// Thread safety: as std::vector.
class DistinctLists {
 public:
  NumberLists<double>& lists() { return lists_; }
  const NumberLists<double>& lists() const { return lists_; }

  // Ends the open list. Returns its number, or that of an equal earlier list.
  std::uint32_t intern_open_list() {
    const std::span<const double> open = lists_.open_list();
    const std::uint64_t hash = hash_of(open);
    const auto [begin, end] = by_hash_.equal_range(hash);
    for (auto known = begin; known != end; ++known) {
      const std::span<const double> list = lists_[known->second];
      if (std::equal(list.begin(), list.end(), open.begin(), open.end())) {
        lists_.drop_open_list();
        return known->second;
      }
    }
    const auto number = static_cast<std::uint32_t>(lists_.size());
    lists_.end_list();
    by_hash_.emplace(hash, number);
    return number;
  }

 private:
  static std::uint64_t hash_of(std::span<const double> list) {
    constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
    std::uint64_t hash = list.size();
    for (const double number : list) {
      hash = std::rotl((hash ^ std::bit_cast<std::uint64_t>(number + 0.0)) * kMultiplier, 29);
    }
    return hash;
  }

  NumberLists<double> lists_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace shardwright
