// Problems small enough that every plan can be tried, to check lower bounds.
#pragma once

#include <memory>
#include <optional>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

struct SmallProblem {
  std::shared_ptr<const embedding::SearchSpace> space;
  embedding::Topology available;
};

// One to four tables of up to three options of every form, on one to four ranks of one or more
// hosts: equal and uneven memory, ranks that must stay empty, costs of zero, measured times, the
// storage model; placement rules on request.
SmallProblem small_problem(Random& random, bool rules);

// The same kind, with the memory in the problem itself, as a planner needs it.
SmallProblem small_planning_problem(Random& random, bool rules);

// Both kinds with up to three tables, on two to eight ranks of which one to three are on no host.
// No tables are kept together or apart.
SmallProblem uneven_problem(Random& random, bool rules);
SmallProblem uneven_planning_problem(Random& random, bool rules);

// The same kind with rules, on six or eight ranks of one to eight hosts: up to three tables, of
// which some are alike, and memory that must stay free.
SmallProblem wide_planning_problem(Random& random);

// In turn: every third one is wide, and of the others a part has rules.
SmallProblem mixed_problem(Random& random, int number);

// Returns the least rating of all plans, or nothing if none is feasible. Tries all options of the
// space on all ranks, and reads the user's rules, not their compiled form. Cost: the product over
// tables of the number of their placements, less those pruned by the best plan so far.
std::optional<double> least_rating(const SmallProblem& problem);

}  // namespace shardwright::test_support
