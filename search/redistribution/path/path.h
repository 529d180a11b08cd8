// A redistribution as a sequence of moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/placement/move.h"

namespace shardwright::redistribution {

struct PathStep {
  Move move;
  Placement after;
  double cost = 0;  // in the unit of the model

  friend bool operator==(const PathStep&, const PathStep&) = default;
};

// Thread safety: a value.
struct Path {
  bool found = true;  // false: no moves within the limits lead there; the cost is infinite
  // True: no other sequence of the moves that the rules allow costs less; of those that cost as
  // much, none needs less memory.
  bool is_optimal = true;
  std::vector<PathStep> steps;
  double cost = 0;
  // What the largest device holds in the course of a step, input and output together. At least what
  // it holds at the source.
  std::int64_t peak_elements = 0;

  // The steps that communicate.
  std::size_t num_collectives() const;
  friend bool operator==(const Path&, const Path&) = default;
};

}  // namespace shardwright::redistribution
