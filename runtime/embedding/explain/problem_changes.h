// Problems that differ in one thing from another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain/explain.h"

namespace shardwright {

// These tables alone, ascending; groups name what is left of theirs.
embedding::ProblemSpec only_tables(const embedding::ProblemSpec& spec,
                                   std::span<const embedding::TableId> tables);

// A change in steps: step 0 is the problem as it is, every further one asks for less.
struct SteppedChange {
  Remedy::Kind kind = Remedy::Kind::kRanks;
  std::int64_t most = 0;  // steps
  double from = 0;        // the value at step 0, and by how much it changes per step, both in the
  double step = 0;        // unit of Remedy; the value of the first step may be nearer
  bool each_rank_adds = false;
  bool same_costs = false;  // the options and their costs stay as they are
  std::function<double(std::int64_t)> value;
  std::function<embedding::ProblemSpec(std::int64_t)> spec;
  std::function<std::string(std::int64_t)> flags;
};

// Ranks of the one host, hosts, HBM and DDR per rank (multiples of 1 MiB), batch size (1), the
// fraction reserved (multiples of 0.01): those that the problem has. Keeps a reference.
std::vector<SteppedChange> stepped_changes(const embedding::Problem& problem);

// Memory, time factors or reserved bytes are given rank by rank, so ranks cannot be added.
bool is_given_by_rank(const embedding::Problem& problem);

// One constraint that may be dropped. `place` is its JSON pointer.
struct DroppableConstraint {
  std::string place;
  std::function<void(embedding::ProblemSpec&)> drop;
};

// Constraints on the options and places of the tables, of groups that name one of them, and memory
// that is set aside beyond the reservation.
std::vector<DroppableConstraint> droppable_constraints(const embedding::Problem& problem,
                                                       std::span<const embedding::TableId> tables);

}  // namespace shardwright
