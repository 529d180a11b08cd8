// An annealing lane of best mode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/annealer.h"
#include "search/embedding/best/best_parameters.h"
#include "search/embedding/best/incumbent.h"
#include "search/embedding/best/pair_balancer.h"
#include "search/embedding/best/restarts.h"
#include "search/embedding/model/allocation.h"
#include "search/random.h"

namespace shardwright::embedding {

// The inputs of a round's cooling schedule.
struct RoundShape {
  std::uint64_t round = 0;  // counted from 0
  std::size_t num_tables = 0;
  bool squared = true;      // see Goal::squared
  bool uneven = false;      // ranks differ by rules or speed
  double typical_gain = 1;  // mean energy that the shards of a table add
};

// Geometric cooling: the temperature falls by the same factor per level.
// Thread safety: one thread at a time. Refers to the parameters.
class CoolingSchedule {
 public:
  explicit CoolingSchedule(const CoolingParameters& parameters) : parameters_(&parameters) {}

  // Begins a round, with a random first temperature.
  void begin(const RoundShape& shape, RandomGenerator& random);

  bool is_over() const { return steps_left_ == 0; }
  // Runs one temperature level: calls `step` with the temperature until `step` returns false, or
  // the level or the round is over.
  template <class Step>
  void run_level(const Step& step) {
    const std::uint64_t steps = parameters_->steps_per_temperature;
    bool more = true;
    for (std::uint64_t i = 0; i < steps && steps_left_ > 0 && more; ++i, --steps_left_)
      more = step(temperature_);
    temperature_ *= factor_;
  }

 private:
  double start_of(const RoundShape& shape, RandomGenerator& random) const;

  const CoolingParameters* parameters_;
  std::uint64_t steps_left_ = 0;
  double temperature_ = 0;
  double factor_ = 1;  // per level
};

// Simulated annealing in rounds. A round starts from the best allocation so far or from a new
// allocation, and has a target between the lower bound and the best rating. The same seed, lane,
// offers and work give the same result.
// Thread safety: one thread at a time per lane. Lanes share the context, which must outlive them.
class AnnealingLane {
 public:
  AnnealingLane(const SearchContext& context, std::uint64_t seed, std::uint32_t lane,
                const AnnealingParameters& parameters = {});
  AnnealingLane(const AnnealingLane&) = delete;
  AnnealingLane& operator=(const AnnealingLane&) = delete;

  // Sets the allocation to which tables return if ratings tie. Only the first call counts.
  void set_reference(std::shared_ptr<const Allocation> reference) {
    incumbent_.set_reference(std::move(reference));
  }
  // Continues from a feasible plan if the plan is better than the lane's best allocation.
  void offer(const RatedPlan& found);
  // Lets the next round start from the suggestion, once the lane has a plan.
  void suggest(SuggestedStart suggested) { restarts_.suggest(std::move(suggested)); }
  // Spends about `work` units (updates of a rank or a shard). Returns early if the best rating
  // reaches `lower_bound` or the budget is interrupted.
  void run(std::uint64_t work, double lower_bound, const Budget& budget);

  // The best feasible allocation so far; empty if there is none.
  const std::optional<RatedAllocation>& best() const { return incumbent_.best(); }
  std::uint64_t work() const { return annealer_.work(); }

 private:
  bool begin_round(double lower_bound, const Budget& budget);
  bool begin_allocation(double bound, double& target, const Budget& budget);
  void consider_choices();
  void choose_target(double lower_bound);
  double typical_gain() const;
  void even_out(std::uint64_t work, const Budget& budget);
  Rank busiest_rank() const;
  void keep_if_good() {
    if (state_.all_good()) keep();
  }
  void keep();
  void settle(std::uint64_t most_work, const Budget& budget);

  AnnealingParameters parameters_;
  const SearchContext* context_;
  std::uint32_t lane_;
  AllocationState state_;
  Incumbent incumbent_;
  Annealer annealer_;
  PairBalancer pair_balancer_;
  Restarts restarts_;
  CoolingSchedule cooling_;
  std::uint64_t rounds_ = 0;
};

}  // namespace shardwright::embedding
