// Finds a plan for a changed problem that weighs the rating against the bytes moved from an old
// plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  // has this rating, it was made for this very problem.
  std::optional<double> best_mode_rating;
  // Without a weight, nothing moves if the best plan rates less by at most this fraction.
  double close_enough = 0;
  std::uint64_t seed = 0;
};

// Returns true if both have the same option on the same ranks.
bool is_same(const Assignment& a, const Assignment& b);

// Minimises rating + weight x GiB moved from an old plan. Every plan that is considered becomes an
// edit of the old plan kept, so that the answer shares every unchanged table with it.
// Thread safety: one thread at a time; plans may be used from any thread.
class ReplanSearch {
 public:
  struct Best {
    Plan plan;
    Evaluation evaluation;  // by the verifier
    double cost = 0;        // rating + weight x GiB moved
    std::int64_t moved_bytes = 0;
  };

  // Places the tables that have lost their place. `available` is what the problem's reservation and
  // margin leave.
  ReplanSearch(std::shared_ptr<const Problem> problem, std::shared_ptr<const SearchSpace> space,
               Topology available, OldPlan old, const ReplanGoal& goal);
  ReplanSearch(const ReplanSearch&) = delete;
  ReplanSearch& operator=(const ReplanSearch&) = delete;

  // The old plan with a place for every table. Null if a table has no place.
  const Plan* kept() const { return kept_ ? &*kept_ : nullptr; }
  // True if a planner may start from kept(): its options are those of the search space, and it
  // breaks no rule but memory.
  bool can_start() const { return kept_ && kept_in_space_ && kept_lacks_only_memory_; }

  // Considers a plan that the planner has found so far. Among plans of equal cost, to a relative
  // 1e-9, the one that moves least is the best.
  void consider(const Plan& plan);

  // Considers `found`, the planner's answer, and searches from the old plan kept and the plans
  // considered until the budget is spent: for a lower cost, or without a weight for fewer bytes
  // moved at no higher rating. `rating_bound`: no plan of the search space rates less; infinite if
  // the space has no plan. Returns null if there is no valid plan.
  const Best* finish(const std::optional<Plan>& found, double rating_bound, Budget& budget);

  // What was copied to make plans here: the old plan kept as a whole, and what each edit of it
  // copied.
  PlanCopies copies() const;

  // What changes from the old plan to `plan`.
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
  // Keeps the options of kept_ and of all its edits alive. The list grows; plans hold it but never
  // read it.
  std::shared_ptr<Owners> owners_ = std::make_shared<Owners>();
  std::optional<Plan> kept_;
  PlanCopies copies_;
  bool kept_in_space_ = true;
  bool kept_lacks_only_memory_ = false;
  bool kept_fits_ = false;
  double kept_rating_ = 0;
  std::optional<MoveProof> proof_;       // bounds the cost of every plan of the space
  std::optional<double> rating_before_;  // as in Migration
  std::string not_kept_;                 // as in Migration
};

}  // namespace shardwright::embedding
