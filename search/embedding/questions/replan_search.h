// Replanning: finds a plan for a changed problem, and weighs the rating against the bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"
#include "search/embedding/questions/move_search.h"
#include "search/embedding/questions/old_plan.h"

namespace shardwright::embedding {

struct ReplanGoal {
  double migration_weight = 0;  // units of the rating per GiB moved
  // The rating that best mode gave the old plan. If the tables are the same and the old plan still
  // has this rating, the problem counts as unchanged.
  std::optional<double> best_mode_rating;
  // Without a weight, nothing moves if the best plan rates lower by at most this fraction.
  double close_enough = 0;
  std::uint64_t seed = 0;
  // The answer moves at most so many bytes.
  std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();
};

// Returns true if both have the same option on the same ranks.
bool is_same(const Assignment& a, const Assignment& b);

// Minimises rating + weight x GiB moved from an old plan. Every plan becomes an edit of kept(), so
// that the answer shares the memory of unchanged tables with kept().
// Thread safety: one thread at a time; plans may be used from any thread.
class ReplanSearch {
 public:
  struct Best {
    Plan plan;
    Evaluation evaluation;  // by the verifier
    double cost = 0;        // rating + weight x GiB moved
    std::int64_t moved_bytes = 0;
  };

  // Makes kept(): places the tables that have lost their place. `available`: the topology less the
  // problem's reservation and margin.
  ReplanSearch(std::shared_ptr<const Problem> problem, std::shared_ptr<const SearchSpace> space,
               Topology available, OldPlan old, const ReplanGoal& goal);
  ReplanSearch(const ReplanSearch&) = delete;
  ReplanSearch& operator=(const ReplanSearch&) = delete;

  // The old plan under the new problem, with a place for every table. Null if a table has no place.
  const Plan* kept() const { return kept_ ? &*kept_ : nullptr; }
  // True if a planner may start from kept(): all its options are in the search space, and it breaks
  // no rule. It may exceed the memory.
  bool can_start() const { return kept_ && kept_in_space_ && kept_lacks_only_memory_; }

  // Considers a plan that the planner has found. Of plans whose costs are equal to a relative 1e-9,
  // the plan that moves the fewest bytes is the best.
  void consider(const Plan& plan);

  // Considers `found`, the planner's answer. Then searches from kept() and all plans considered
  // until the budget is spent: for a lower cost, or, without a weight, for fewer bytes moved at no
  // higher rating. Then returns tables to their old places where a change moves no bytes and the
  // rating does not rise. `rating_bound`: a lower bound of the rating of all plans of the search
  // space; infinite if there is no plan. Returns null if no valid plan was found. The answer is
  // valid until the next call.
  const Best* finish(const std::optional<Plan>& found, double rating_bound, Budget& budget);

  // What was copied to make plans: kept() as a whole, and the changed parts of each edit.
  PlanCopies copies() const;

  // The changes from the old plan to `plan`.
  Migration migration(const std::optional<Plan>& plan) const;

 private:
  using Owners = std::vector<std::shared_ptr<const void>>;

  void keep_old_plan();
  void rate_old_places(const std::vector<Assignment>& assignments);
  void rate_kept();
  Plan edit_of_kept(const Plan& plan);
  Plan of_pool(const Plan& plan);
  void search_moves(const std::vector<Plan>& starts, double rating_bound, Budget& budget);
  void take(const Plan& plan, bool only_if_better);
  void undo_idle_changes(Budget& budget);
  void undo(std::span<const std::size_t> tables, Budget& budget, std::uint64_t most_work);
  double cost(double rating, std::int64_t moved_bytes) const;
  std::int64_t moved_bytes(const Plan& plan) const;
  double weight_among_equal() const;
  bool should_stay() const;
  bool is_same_problem() const;

  std::shared_ptr<const Problem> problem_;
  std::shared_ptr<const SearchSpace> space_;
  Topology available_;
  OldPlan old_;
  ReplanGoal goal_;
  OptionPool pool_;  // the options of the space and of all plans considered
  std::optional<Best> best_;
  // Owns the options of kept_ and of all its edits. The list grows; plans own it but never read it.
  std::shared_ptr<Owners> owners_ = std::make_shared<Owners>();
  std::optional<Plan> kept_;
  PlanCopies copies_;
  bool kept_in_space_ = true;
  bool kept_lacks_only_memory_ = false;
  bool kept_fits_ = false;
  double kept_rating_ = 0;
  std::optional<MoveProof> proof_;       // bound of the cost of every plan of the space
  std::optional<double> rating_before_;  // as in Migration
  std::string not_kept_;                 // as in Migration
};

}  // namespace shardwright::embedding
