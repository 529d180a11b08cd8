// Problems so small that tests of lower bounds can enumerate all plans.
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

// One to four tables with up to three options each, on one to four ranks. Problems vary in hosts,
// memory of ranks, costs of zero, measured times and the perf model. `rules` adds placement rules.
SmallProblem small_problem(Random& random, bool rules);

// As small_problem(), but the memory of the ranks is in the problem, where a planner reads it.
SmallProblem small_planning_problem(Random& random, bool rules);

// As the two functions above, with up to three tables on two to eight ranks. One to three of the
// ranks belong to no host. No tables are kept together or apart.
SmallProblem uneven_problem(Random& random, bool rules);
SmallProblem uneven_planning_problem(Random& random, bool rules);

// As small_planning_problem() with rules, with up to three tables on six or eight ranks of one to
// eight hosts. Some tables have equal options, and some memory must stay free.
SmallProblem wide_planning_problem(Random& random);

// Alternates between the kinds above: every third is wide, and some of the others have rules.
SmallProblem mixed_problem(Random& random, int number);

// Returns the least rating of all plans, or nullopt if none is feasible. Reads the constraints as
// the user wrote them, not the compiled rules. Cost: the product over tables of the number of their
// placements; a branch ends where it is no better than the best plan so far.
std::optional<double> least_rating(const SmallProblem& problem);

}  // namespace shardwright::test_support
