// Finds an optimal plan by solving only problems of the choices with lower bounds near the best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/trws_relaxation.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of ChoicePruning and sieved_search(). Thread safety: a value.
struct PruningParameters {
  // A look is a problem of the choices with the lowest bounds. These are the sweeps of messages
  // before the first look, and before each further look. The bound is mostly tight after a dozen
  // sweeps. Each sweep reads all tables.
  int first_sweeps = 14;
  int more_sweeps = 2;
  // Hurried sweeps (TrwsRelaxation::hurry), all with the same `haste`. There are `hurried` of them
  // after ChoicePruning::spread() has divided the messages of merged blocks among all blocks, or
  // after prices have changed, and `more_hurried` before the `more_sweeps` of each further look.
  // They adapt the messages of the first and last block, which differ from the other blocks. With
  // more hurried sweeps, the bound ends lower; with fewer, it needs many more normal sweeps.
  int hurried = 2;
  int more_hurried = 4;
  double haste = 0.5;
  // If blocks repeat: rounds of `block_sweeps` sweeps with all blocks merged to one, at most
  // `most_block_rounds`, while a round raises the bound by the fraction `least_block_gain`. Then
  // `sweeps_from_blocks` sweeps for all blocks.
  int block_sweeps = 8;
  double least_block_gain = 1e-4;
  int most_block_rounds = 4;
  int sweeps_from_blocks = 3;
  // A look keeps the choices whose bounds exceed the bound of all plans by at most the fraction
  // `first_part`. The fraction is halved while a look keeps more than `first_choices` per variable,
  // so that its work mostly suffices. The next look multiplies the fraction by `part_growth`.
  double first_part = 0.01;
  double first_choices = 4;
  double part_growth = 4;
  // If its work does not suffice, a look is repeated with half the choices, at least this many.
  double fewest_choices = 2;
  // Work of a look, in strategy evaluations. Problems that need more work get better bounds first.
  std::uint64_t work_of_look = 10'000'000;
  // The problem that proves the optimum may keep `most_choices` choices per variable. Its first
  // attempt gets `work_of_proof`. Each further attempt follows a round of better bounds and gets
  // `work_growth` times the work. There are at most `most_rounds` rounds.
  double most_choices = 12;
  std::uint64_t work_of_proof = 20'000'000;
  std::uint64_t work_growth = 2;
  int most_rounds = 16;
  // After these rounds, a last attempt has no limit of work, if its matrices have at most
  // `most_last_entries` entries (half a gigabyte). Otherwise the best plan stays unproved.
  double most_last_entries = 3e7;
};

// The messages of a model, and the choices that bounds from these messages select.
// Thread safety: one thread at a time.
class ChoicePruning {
 public:
  // Borrows the model. Makes the first sweeps; if blocks repeat, first with merged blocks.
  ChoicePruning(const AtenModel& model, const PruningParameters& parameters);
  // Returns a pruning with repeated blocks merged to one, which takes a fraction of the time. Its
  // bounds hold only for plans whose blocks are equal. Its messages are a good start for all plans;
  // see spread(). Without repetition, its bounds hold for all plans.
  static ChoicePruning of_blocks(const AtenModel& model, const PruningParameters& parameters);
  // Returns a pruning for all plans, without prices. Divides these messages among the blocks.
  ChoicePruning spread() const;

  // `prices`: by time point. `limit`: bytes at each time point. Sweeps until the bound settles.
  void settle_at(std::span<const double> prices, std::int64_t limit,
                 const PruningParameters& parameters);

  TrwsRelaxation& messages() { return messages_; }
  const TrwsRelaxation& messages() const { return messages_; }

  // Returns the choices whose bounds are at most `most`. A leader's variables have the same.
  KeptChoices at_most(double most) const;
  // Returns the choices whose bounds exceed the least bound by at most the fraction `part`. Halves
  // `part` while these are more than `choices` choices per variable on average.
  KeptChoices near(double& part, double choices) const;

  double per_variable(const KeptChoices& kept) const;
  // Returns the least bound of the choices that are not kept; kForbidden if all are kept.
  double least_left_out(const KeptChoices& kept) const;

 private:
  ChoicePruning(const AtenModel& model, std::vector<std::uint32_t> leaders,
                TrwsRelaxation messages);
  static TrwsRelaxation first_messages(const AtenModel& model, const PruningParameters& parameters);
  void settle(const PruningParameters& parameters);

  const AtenModel* model_;
  std::vector<std::uint32_t> leaders_;  // by variable; of the model or of its blocks
  TrwsRelaxation messages_;
};

struct SievedSolution {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by variable: index of its choice; empty: none found
  double objective = 0;
  double lower_bound = 0;
  StopReason stopped_by = StopReason::kFinished;
  std::uint64_t kept = 0;  // number of choices of the last problem solved
};

enum class SieveGoal : std::uint8_t {
  kOptimum,
  kAnyPlan,  // quickly a good plan, for callers that only start from it
};

// Finds the cheapest plan without a memory limit. Bounds choices by messages, solves the problem of
// the choices near the bound, and proves that all other choices have bounds above the cost found.
// Ends with kWithinGap once a plan exceeds the bound by at most the fraction `options.gap` of its
// cost. Determinism and budget are those of solve_problem().
Result<SievedSolution> sieved_search(const AtenModel& model, ChoicePruning& pruning,
                                     Executor& executor, Budget& budget,
                                     const ProblemSolveOptions& options,
                                     SieveGoal goal = SieveGoal::kOptimum,
                                     const PruningParameters& parameters = {});

}  // namespace shardwright::operators
