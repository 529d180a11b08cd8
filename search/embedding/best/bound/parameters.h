// All tuning numbers of the proof.
#pragma once

#include <cstddef>
#include <cstdint>

#include "search/embedding/best/bound/model/parameters.h"
#include "search/embedding/best/bound/pricing/parameters.h"

namespace shardwright::embedding {

struct AggregateParameters {
  // Cutting planes for one bound.
  std::uint32_t max_rounds = 200;
  // Gap between the best bound and what the cuts still allow that ends the rounds, as a part of the
  // latter.
  double gap = 1e-7;
  // Largest multiplier of a rank's whole memory, in units of the target. It keeps the first
  // programs bounded; no useful bound reaches it.
  double max_multiplier = 1e3;
};

struct ColumnGenerationParameters {
  // How much more the tables must be worth than what all ranks can hold, relatively, to count as a
  // proof. It must exceed the slack and the rounding of the certificate's check.
  double margin = 1e-7;
  // Excess of ranks used over ranks there are, as a part of the latter, below which the relaxation
  // counts as feasible.
  double feasible_excess = 1e-9;
  // How much a pattern's value must exceed the dual value of its class to enter the program:
  // relatively, and absolutely.
  double min_relative_gain = 1e-9;
  double min_gain = 1e-12;
  // Steps of a pricing problem that take as long as a simplex pivot: a fixed part, and one per row
  // and column up to a maximum; larger programs are sparse enough for more not to matter.
  std::uint64_t pivot_steps = 500;
  std::uint64_t max_pivot_size_steps = 3'000;
  // Part of a table up to which its choice counts as complete when a group's solution is dealt out.
  double min_share = 1e-9;
};

struct BranchingParameters {
  // A branch must separate at least this much, as a part of all load or memory.
  double min_width = 1e-9;
  // Share of a choice from which its table branches on places.
  double min_share = 0.5;
  // Width of a branch on a choice all of whose shards are in one place, as a part of its load: such
  // a choice comes last, but it must be divided too.
  double whole_width = 1e-3;
};

struct BoundTargetParameters {
  // Steps between targets at which the bisection ends, as a part of the rating: at the root node,
  // and with branching.
  double root_step = 1e-3;
  double tree_step = 2e-5;
  // The first target lies this part of the optimality gap below the rating.
  double goal_in_gap = 0.9;
  // Work for the relaxation of the root node: at first, its growth after a question that was cut
  // short, and the most.
  std::uint64_t root_work = 8'000'000;
  std::uint64_t root_work_growth = 4;
  std::uint64_t max_root_work = 128'000'000;
  // Work for the relaxation of one node of a tree.
  std::uint64_t node_work = 40'000'000;
  // Nodes for one target.
  std::size_t max_nodes = 4'000;
};

struct BoundParameters {
  // A plan is proved optimal if the bound is closer to its rating than this, relatively.
  double optimality_gap = 1e-4;
  // Rows of the master program from which on only the aggregate bound is used: a larger program
  // takes longer to solve than a whole search.
  std::size_t max_master_rows = 6'000;
  // Fall of the rating, relatively, after which the aggregate bound is computed anew: choices that
  // were possible may now be excluded.
  double rating_fall = 1e-3;

  RankClassParameters classes;
  AggregateParameters aggregate;
  KnapsackParameters pricing;
  ColumnGenerationParameters columns;
  BranchingParameters branching;
  BoundTargetParameters targets;
};

}  // namespace shardwright::embedding
