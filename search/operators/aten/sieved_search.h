// Sorts the choices of a model by how good a plan with them can be at best.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/placement_messages.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright::operators {

// Tuning numbers of the sieve.
// Thread safety: a value.
struct SieveParameters {
  // Sweeps of messages before the first look, and before each further one. The bound is mostly
  // tight after a dozen; each costs a look at all tables.
  int first_sweeps = 14;
  int more_sweeps = 2;
  // Hurried ones before the first sweeps for all blocks and before the further ones, and their
  // haste. They make up for the first and the last block, which differ from the others. More stop
  // short of the bound, fewer need many more sweeps.
  int hurried = 2;
  int more_hurried = 4;
  double haste = 0.5;
  // Where blocks repeat: sweeps for one block, again while the bound rises by this part of it, in
  // at most so many rounds. Then sweeps for all blocks.
  int block_sweeps = 8;
  double least_block_gain = 1e-4;
  int most_block_rounds = 4;
  int sweeps_from_blocks = 3;
  // A look takes the choices whose bound is within a part of the bound of all. The part is halved
  // while it keeps more than `first_choices` per variable: such problems must be quick, as there is
  // one in every round. Twice as many mostly do not end within the work of a look. The next look
  // begins with a part that is larger by `part_growth`.
  double first_part = 0.01;
  double first_choices = 4;
  double part_growth = 4;
  // Half as many choices are looked at after a look that its work did not finish, unless they were
  // this few.
  double fewest_choices = 2;
  // Work of a look, in strategy evaluations. What needs more needs better bounds first.
  std::uint64_t work_of_look = 10'000'000;
  // The problem that proves the optimum may keep so many choices per variable, and gets this work
  // first. What needs more needs better bounds first, in at most so many rounds, and then gets more
  // by a factor.
  double most_choices = 12;
  std::uint64_t work_of_proof = 20'000'000;
  std::uint64_t work_growth = 2;
  int most_rounds = 16;
  // After these rounds it may have matrices of so many entries, half a gigabyte. If it had more,
  // the best plan keeps its bound.
  double most_last_entries = 3e7;
};

// Messages of a model, and what they say about its choices.
// Thread safety: one thread at a time.
class ChoiceSieve {
 public:
  // Borrows the model. Sweeps: where blocks repeat, first for one block.
  ChoiceSieve(const AtenModel& model, const SieveParameters& parameters);
  // Repeated blocks as one, which takes a fraction of the time. Its bounds hold for plans whose
  // blocks are equal; the messages are a start for all plans. Without repetition all plans.
  static ChoiceSieve of_blocks(const AtenModel& model, const SieveParameters& parameters);
  // The same for all plans, with the messages divided among the blocks. Without prices.
  ChoiceSieve spread() const;

  // `prices` by time point; `limit` is what may be held at each. Sweeps until the bound settles.
  void settle_at(std::span<const double> prices, std::int64_t limit,
                 const SieveParameters& parameters);

  PlacementMessages& messages() { return messages_; }
  const PlacementMessages& messages() const { return messages_; }

  // The choices whose bound is at most `most`, the same for all variables of a leader.
  KeptChoices at_most(double most) const;
  // Those whose bound is within a part of the bound of all. The part is halved while they are more
  // than `choices` per variable, and returned.
  KeptChoices near(double& part, double choices) const;

  double per_variable(const KeptChoices& kept) const;
  // The least bound of the choices that are not kept; kForbidden if there is none.
  double least_left_out(const KeptChoices& kept) const;

 private:
  ChoiceSieve(const AtenModel& model, std::vector<std::uint32_t> leaders,
              PlacementMessages messages);
  static PlacementMessages first_messages(const AtenModel& model,
                                          const SieveParameters& parameters);
  void settle(const SieveParameters& parameters);

  const AtenModel* model_;
  std::vector<std::uint32_t> leaders_;  // by variable; those of the model, or of its blocks
  PlacementMessages messages_;
};

struct SievedSolution {
  SolveStatus status = SolveStatus::kUnknown;
  std::vector<std::uint32_t>
      choice;  // by variable, of its choices; empty unless optimal or feasible
  double objective = 0;
  double lower_bound = 0;
  StopReason stopped_by = StopReason::kFinished;
  std::uint64_t kept = 0;  // choices of the last problem that was solved
};

enum class SieveGoal : std::uint8_t {
  kOptimum,
  kAnyPlan,  // good and quick: for those who will not take it anyway
};

// Bounds choices by messages, solves the problem of those near the bound, and proves that no other
// choice can be part of a better plan: its bound is above the cost that was found. Without a memory
// limit. Deterministic and budgeted as solve_problem().
Result<SievedSolution> sieved_search(const AtenModel& model, ChoiceSieve& sieve, Executor& executor,
                                     Budget& budget, const ProblemSolveOptions& options,
                                     SieveGoal goal = SieveGoal::kOptimum,
                                     const SieveParameters& parameters = {});

}  // namespace shardwright::operators
