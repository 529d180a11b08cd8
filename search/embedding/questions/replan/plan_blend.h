// The best of several plans, and of what lies between them, by rating and bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/plan_loads.h"
#include "search/embedding/questions/replan/old_plan.h"

namespace shardwright {

// One assignment per table, in proposal order.
using Assignments = std::vector<embedding::Assignment>;

Assignments to_assignments(const embedding::Plan& plan);

// Minimises rating + weight x GiB moved of tables that the old plan has; among equals (to 1e-9)
// what moves less.
// Keeps references. Thread safety: one thread at a time.
class PlanBlend {
 public:
  struct Blended {
    embedding::Plan plan;
    embedding::Evaluation evaluation;
    double cost = 0;
    std::int64_t moved_bytes = 0;
  };

  PlanBlend(const embedding::Problem& problem, const embedding::Topology& available,
            const OldPlan& old, double weight)
      : problem_(&problem), available_(&available), old_(&old), weight_(weight) {}

  // Keeps the options alive that plans considered from now on point to.
  void keep_alive(std::shared_ptr<const void> owner);

  // Takes a plan that holds every rule and is better than the best.
  void consider(const Assignments& assignments);
  // Takes a plan that holds every rule, better or not.
  void settle(const Assignments& assignments);
  // Goes from one plan to another table by table (tables kept together at once), always the step
  // that leaves least overfull and costs least, and considers every plan on the way. Where that
  // would take long, goes through the tables once and makes the steps that are gains.
  void walk(Assignments from, const Assignments& to);

  // Improves a plan by single steps, each the best that takes something off the fullest or slowest
  // rank: a shard to another rank, two shards changing ranks, a table to its place in `toward`.
  // Leaves tables that placement rules name where they are. Considers the plan at the end.
  // Steps are chosen as if moves cost `dearer` times their weight: a way out of poor optima.
  void descend(Assignments from, const Assignments& toward, double dearer);

  const std::optional<Blended>& best() const { return best_; }

  std::int64_t moved_bytes(const embedding::Assignment& to) const;

 private:
  using Unit = std::vector<std::size_t>;  // positions that change together

  // How bad a state is, in this order.
  struct Badness {
    std::int64_t excess_bytes = 0;
    double cost = 0;
    std::int64_t moved_bytes = 0;
  };
  // A plan between two others, and by position what is moved where it has changed and where not.
  struct State {
    Assignments at;
    embedding::PlanLoads loads;
    std::vector<std::int64_t> moved_before;
    std::vector<std::int64_t> moved_after;
    std::int64_t moved = 0;
    double weight = 0;  // of moves, in choosing steps
  };

  void take(const Assignments& assignments, bool only_better);
  // A table's other place, and what moves then.
  struct Change {
    std::size_t position = 0;
    embedding::Assignment to;
    std::int64_t moved = 0;
  };
  using Step = std::vector<Change>;
  Change change_to(std::size_t position, embedding::Assignment to) const;
  static void apply(State& state, const Step& step);
  Badness after(State& state, const Step& step) const;
  std::vector<Step> steps_off(const State& state, embedding::Rank rank,
                              const Assignments& toward) const;
  std::vector<Unit> units_between(const Assignments& from, const Assignments& to) const;
  static double cost_of(double rating, std::int64_t moved, double weight);
  bool is_better(double cost, std::int64_t moved) const;
  static bool precedes(const Badness& a, const Badness& b);
  Badness badness(const State& state) const;
  // Changes a unit; returns what it was, for change_back().
  static Assignments change(State& state, const Unit& unit, const Assignments& to);
  static void change_back(State& state, const Unit& unit, Assignments before);
  void consider_state(const State& state);
  void walk_by_steps(State& state, std::vector<Unit> units, const Assignments& to);
  void walk_once(State& state, const std::vector<Unit>& units, const Assignments& to);

  const embedding::Problem* problem_;
  const embedding::Topology* available_;
  const OldPlan* old_;
  double weight_;
  std::shared_ptr<const void> owner_;
  std::optional<Blended> best_;
};

}  // namespace shardwright
