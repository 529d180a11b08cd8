// Problems small enough that every plan can be tried: what lower bounds are held against.
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
// storage model; and placement rules, where asked for.
SmallProblem small_problem(Random& random, bool rules);

// The same kind, whose memory the problem itself states: what a planner can be asked for.
SmallProblem small_planning_problem(Random& random, bool rules);

// The least rating of any plan, or nothing where none is feasible. Tries all options of the space
// on all ranks, and reads the user's rules rather than what was made of them. Cost: the product
// over tables of the number of their placements, less what is dearer than the best so far.
std::optional<double> least_rating(const SmallProblem& problem);

}  // namespace shardwright::test_support
