// How one dimension of a tensor is sharded, and all dimensions together.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace shardwright::operators {

// The mesh axes that shard one dimension. Their order is always ascending, so the set of axes is
// the whole value: a mesh of two axes has exactly four (R, S0, S1, S01). Thread safety: a value.
struct DimSpec {
  std::uint8_t axes = 0;  // bit a = sharded along axis a

  constexpr bool replicated() const { return axes == 0; }
  constexpr int num_axes() const { return std::popcount(axes); }
  constexpr bool has(int axis) const { return ((axes >> axis) & 1) != 0; }
  // The highest axis; -1 if replicated.
  constexpr int last_axis() const { return std::bit_width(axes) - 1; }
  constexpr DimSpec with(int axis) const {
    return {static_cast<std::uint8_t>(axes | (1U << axis))};
  }
  constexpr DimSpec without(int axis) const {
    return {static_cast<std::uint8_t>(axes & ~(1U << axis))};
  }
  friend constexpr bool operator==(DimSpec, DimSpec) = default;

  // "R", "S0", "S01".
  std::string to_string() const;
};

// The cost of converting a dimension in ColossalAI's count: 20 for dropping the last axis, 5 for
// appending a later one, and 6 between two steps. Source: _dim_difference, ColossalAI
// colossalai/tensor/sharding_spec.py.
constexpr int dim_difference(DimSpec from, DimSpec to) {
  const int differing = from.axes ^ to.axes;
  if (differing == 0) return 0;
  const int beyond_prefix = ~((differing & -differing) - 1);  // from the first axis that differs
  const int drops = std::popcount(static_cast<unsigned>(from.axes & beyond_prefix));
  const int appends = std::popcount(static_cast<unsigned>(to.axes & beyond_prefix));
  return 20 * drops + 5 * appends + 6 * (drops + appends - 1);
}

// One DimSpec per dimension of a tensor of at most eight dimensions, in one word.
// Thread safety: a value.
class DimSpecs {
 public:
  static constexpr std::size_t kMaxRank = 8;

  constexpr DimSpecs() = default;
  // All replicated.
  constexpr explicit DimSpecs(std::size_t rank) : rank_(static_cast<std::uint8_t>(rank)) {}

  constexpr std::size_t rank() const { return rank_; }
  constexpr DimSpec operator[](std::size_t dim) const {
    return {static_cast<std::uint8_t>(bits_ >> (8 * dim))};
  }
  constexpr DimSpecs with(std::size_t dim, DimSpec spec) const {
    DimSpecs changed = *this;
    changed.bits_ &= ~(std::uint64_t{0xff} << (8 * dim));
    changed.bits_ |= std::uint64_t{spec.axes} << (8 * dim);
    return changed;
  }
  // The axes that shard any dimension.
  constexpr std::uint8_t used_axes() const {
    std::uint64_t folded = bits_;
    folded |= folded >> 32;
    folded |= folded >> 16;
    folded |= folded >> 8;
    return static_cast<std::uint8_t>(folded);
  }
  // Returns true if no axis shards two dimensions.
  constexpr bool disjoint() const { return std::popcount(bits_) == std::popcount(used_axes()); }
  constexpr std::uint64_t bits() const { return bits_; }
  friend constexpr bool operator==(const DimSpecs&, const DimSpecs&) = default;

  // "S0,R,S1".
  std::string to_string() const;
  // The inverse; brackets and spaces are ignored. Errors: unknown text, axes that do not ascend,
  // an axis above seven, more than eight dimensions.
  static Result<DimSpecs> parse(std::string_view text);

 private:
  std::uint64_t bits_ = 0;
  std::uint8_t rank_ = 0;
};

// Sum over the dimensions. Precondition: equal rank.
constexpr int difference(const DimSpecs& from, const DimSpecs& to) {
  int sum = 0;
  for (std::size_t dim = 0; dim < from.rank(); ++dim)
    sum += dim_difference(from[dim], to[dim]);
  return sum;
}

}  // namespace shardwright::operators
