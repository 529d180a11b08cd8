// Boxes of a tensor: which elements a rank holds, how boxes meet and join.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/program/dist_attr.h"

namespace shardwright::program {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

// One interval per dimension, in elements of the whole tensor.
using Part = boost::container::small_vector<Interval, 4>;

Shape shape_of(const Part& part);
std::int64_t num_elements(const Part& part);
std::int64_t num_elements(const Shape& shape);
Part whole(const Shape& shape);

// Piece number `index` of `size` elements cut into `pieces`: as even as possible, the first
// size % pieces one longer.
Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index);

// The box that the rank at `position` of the mesh holds.
Part part_at(const Shape& shape, const DistAttr& attr, std::size_t position);

// Whether every split dimension divides evenly.
bool splits_evenly(const Shape& shape, const DistAttr& attr);

// Whether they have an element in common; equal intervals do even where they are empty, so that a
// tensor without elements has an owner.
bool overlap(const Part& a, const Part& b);
Part intersection(const Part& a, const Part& b);  // precondition: overlap(a, b)
// `inner` in the coordinates of `outer`.
Part relative(const Part& inner, const Part& outer);

// How two boxes that differ in one dimension and touch there become one; or two that are equal and
// empty.
struct Join {
  std::size_t dim = 0;
  bool first_is_lower = true;
  Part joined;
};
std::optional<Join> join(const Part& first, const Part& second);

// The order in which pieces are joined: each new piece with the first of the boxes so far that it
// can join, the result again, until none fits. `on_join(i, join)` sees entry i of the list and the
// piece become one; the entry is gone after the call. Source: Paddle's Resharder, concat of
// partitions.
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
