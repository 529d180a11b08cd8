// Boxes of a tensor: which elements a rank holds, and how boxes overlap and join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/redistribution/placement/box.h"

namespace shardwright::program {

using redistribution::Interval;
using Part = redistribution::Box;

using redistribution::intersection;
using redistribution::num_elements;
using redistribution::overlap;
using redistribution::relative;
using redistribution::shape_of;
using redistribution::whole;

// Piece number `index` of `size` elements cut into `pieces` as evenly as possible: the first
// size % pieces pieces are longer by one element.
inline Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index) {
  return redistribution::cut(size, pieces, index, redistribution::Rounding::kBalanced);
}

// The box that the rank at `position` of the mesh holds, in elements of the whole tensor.
Part part_at(const Shape& shape, const DistAttr& attr, std::size_t position);

// Returns true if every split dimension divides into pieces of equal size.
bool splits_evenly(const Shape& shape, const DistAttr& attr);

// How two boxes become one.
struct Join {
  std::size_t dim = 0;
  bool first_is_lower = true;
  Part joined;
};
// Empty unless the boxes differ in one dimension only and touch there, or are equal and empty.
std::optional<Join> join(const Part& first, const Part& second);

// Joins `piece` with the first of `boxes` that fits, then the result with the first of the others
// that fits, and so on, and appends the last result. Calls on_join(i, join) for each join with
// boxes[i], just before that entry is removed. Source: Paddle's Resharder, concat of partitions.
template <class OnJoin>
void absorb(std::vector<Part>& boxes, Part piece, const OnJoin& on_join) {
  for (bool joined = true; joined;) {
    joined = false;
    for (std::size_t i = 0; i < boxes.size() && !joined; ++i) {
      const std::optional<Join> fit = join(boxes[i], piece);
      if (!fit) continue;
      on_join(i, *fit);
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(i));
      piece = fit->joined;
      joined = true;
    }
  }
  boxes.push_back(std::move(piece));
}

}  // namespace shardwright::program
