// Parameters of the first choice within the limits and of the descent that follows it.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <cstddef>

namespace shardwright::operators {

// Parameters of first_feasible().
// Thread safety: a value.
struct FeasibleParameters {
  // Assignments that are tried, each with new weights of the time points. Weights settle long
  // before this; if they do not, more rounds do not help.
  int most_rounds = 60;
  // Restarts of an assignment that runs into a contradiction. Of these, the first so many begin
  // with the nodes whose strategies differ most in weighted bytes, the others in random order.
  int most_restarts = 40;
  int steered_restarts = 20;
  // Strategies of a node whose consequences are tried, lightest first: trying all of a node with
  // hundreds costs more than it finds.
  std::size_t most_trials = 24;
  // A time point's weight is multiplied by its fill (bytes / limit, at least `least_fill`) to this
  // power. High, so that one round moves the weight to where the limit is exceeded.
  double fill_power = 12;
  double least_fill = 0.01;
  // No weight falls below this part of the largest, so that a time point can return.
  double least_weight = 1e-6;
};

// Parameters of descend().
// Thread safety: a value.
struct DescentParameters {
  int most_passes = 20;
  // The pass that gains less than this part of what the first gained is the last: the local search
  // finds the rest for less work.
  double least_gain = 1e-3;
};

}  // namespace shardwright::operators
