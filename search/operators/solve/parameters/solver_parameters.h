// All parameters of the operators' solver.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/parameters/exact_parameters.h"
#include "search/operators/solve/parameters/local_search_parameters.h"
#include "search/operators/solve/parameters/reduce_parameters.h"
#include "search/operators/solve/parameters/start_parameters.h"

namespace shardwright::operators {

// What solve() itself decides: how much is spent on which stage.
// Thread safety: a value.
struct StageParameters {
  // The core is solved by tables of at most so many entries, about a second, and by at most so many
  // labels.
  double most_table_entries = 2e7;
  std::size_t most_labels = 3'000'000;
  // Cores of more strategies are large: branch and bound, which reduces every subproblem anew, is
  // left out, and the local search improves them instead.
  std::size_t most_branched_strategies = 30'000;
  // Large cores: passes of the local search within the limits before the bounds, for an early
  // answer.
  std::uint64_t descent_passes = 2;
  // Rounds of dual ascent on the core, and passes over all nodes in both directions per round. It
  // ends after `stretch` rounds that close less than `progress` of the gap.
  int most_rounds = 800;
  int sweeps = 2;
  int stretch = 40;
  double progress = 1e-3;
  // Rounds are limited to this much work. If that pays for fewer than `least_rounds`, one round is
  // made for its bound: prices that have moved a few times only are worth nothing.
  std::uint64_t most_relaxation_work = 3'000'000'000;
  int least_rounds = 60;
  // Beside the local search the ascent does this part of its work, and goes on until `last_stretch`
  // rounds close less than `last_progress` of the gap. A choice that its messages suggest begins a
  // cycle of the search once the bound has closed `suggested_progress` of the gap since the one
  // before.
  double ascent_share = 0.5;
  int last_stretch = 100;
  double last_progress = 1e-3;
  double suggested_progress = 1e-3;
  // The ascent aims at the best known cost; while there is none, this part above the bound.
  double blind_target = 0.05;
  // Strategies per node of the problem that is solved for a good choice before branch and bound:
  // those with the lowest bounds.
  std::size_t near_strategies = 6;
  // Batches without a better choice after which the local search ends, once the ascent has.
  std::size_t patience = 2000;
};

// Thread safety: a value.
struct SolverParameters {
  StageParameters stages;
  ReduceParameters reduce;
  TableOrderParameters order;
  ExactParameters exact;
  DualAscentParameters dual;
  BranchParameters branch;
  FeasibleParameters feasible;
  DescentParameters descent;
  LocalSearchParameters local;
};

}  // namespace shardwright::operators
