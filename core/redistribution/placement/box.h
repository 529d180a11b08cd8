// Boxes of a tensor: one interval of elements per dimension.
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

namespace shardwright::redistribution {

inline constexpr std::size_t kMaxDims = 9;

// The number of elements in each dimension.
using Shape = boost::container::static_vector<std::int64_t, kMaxDims>;

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

// One interval per dimension, in elements of the whole tensor.
using Box = boost::container::small_vector<Interval, 4>;

Shape shape_of(const Box& box);
std::int64_t num_elements(const Box& box);
std::int64_t num_elements(const Shape& shape);
Box whole(const Shape& shape);

// Returns true if the boxes have an element in common. Equal empty intervals count as overlapping,
// so that a tensor without elements has an owner.
bool overlap(const Box& a, const Box& b);
Box intersection(const Box& a, const Box& b);  // precondition: overlap(a, b)
// `inner` in coordinates relative to `outer`.
Box relative(const Box& inner, const Box& outer);

// How a dimension is cut into pieces that need not be of equal size. Of several axes, each cuts the
// piece that the one before made.
enum class Rounding : std::uint8_t {
  // Pieces of ceil(size / pieces) elements; the last ones are shorter or empty. Source: torch.chunk,
  // as DTensor uses it.
  kCeil,
  // The first size % pieces pieces are longer by one element. Source: Paddle's Resharder, as
  // numpy.array_split.
  kBalanced,
};

// Piece number `index` of `size` elements. Preconditions: size >= 0, 0 <= index < pieces.
Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index, Rounding rounding);

}  // namespace shardwright::redistribution
