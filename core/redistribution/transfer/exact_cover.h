// Tells whether boxes fill a box without gap and overlap.
#pragma once

#include <vector>

#include "core/redistribution/placement/box.h"

namespace shardwright::redistribution {

// Returns true if every element of `whole` is in exactly one of the boxes, and no box reaches
// outside. Boxes without elements do not matter. Cuts at the boundary of a box that divides the
// others best, so O(n log n) for n boxes of a grid.
bool covers_exactly(std::vector<Box> boxes, const Box& whole);

}  // namespace shardwright::redistribution
