// Problems that differ from another one in a single thing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/explain/infeasible/remedy.h"

namespace shardwright::embedding {

// The problem with these tables alone. Groups keep those of their tables that are left.
// Precondition: `tables` is ascending.
ProblemSpec only_tables(const ProblemSpec& spec, std::span<const TableId> tables);

// A change in steps: step 0 is the problem as it is, every further step makes it easier.
struct SteppedChange {
  Remedy::Kind kind = Remedy::Kind::kRanks;
  std::int64_t most = 0;  // the last step
  double from = 0;        // value at step 0, in the unit of Remedy
  double step = 0;        // how much the value changes per step; the first step may be shorter
  bool each_rank_adds = false;
  bool same_costs = false;  // options and costs do not depend on the step
  std::function<double(std::int64_t)> value;
  std::function<ProblemSpec(std::int64_t)> spec;
};

// The changes that apply to the problem, in this order: ranks (of a single host), hosts, HBM, DDR
// and, where it is counted, SSD per rank (in steps of 1 MiB), batch size, reserved fraction (in
// steps of 0.01). The changes keep a reference to the problem.
std::vector<SteppedChange> stepped_changes(const Problem& problem);

// Returns true if memory, time factors or reserved bytes are given rank by rank: then nobody knows
// what further ranks would have.
bool is_given_by_rank(const Problem& problem);

// One constraint that may be dropped. `place` is its JSON pointer.
struct DroppableConstraint {
  std::string place;
  std::function<void(ProblemSpec&)> drop;
};

// Constraints on the options and places of `tables`, groups that name one of them, and memory that
// is set aside beyond the reservation.
std::vector<DroppableConstraint> droppable_constraints(const Problem& problem,
                                                       std::span<const TableId> tables);

}  // namespace shardwright::embedding
