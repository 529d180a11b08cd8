// One independent stream of the search for better allocations.
#pragma once

#include <cstdint>
#include <optional>

#include "search/budget.h"
#include "search/embedding/best/local/annealer.h"
#include "search/embedding/best/local/pair_balancer.h"

namespace shardwright::embedding {

struct RatedAllocation {
  Allocation allocation;
  double rating = 0;  // largest load of a rank, summed in another order than the verifier's
  std::int64_t peak_hbm_bytes = 0;  // of one rank, by shards
};

// Whether a is to be preferred: lower rating, then lower peak.
bool is_better(const RatedAllocation& a, const RatedAllocation& b);

// Annealing in rounds, each from the best allocation so far or a new one, toward a target between
// the lower bound and the best rating. The same seed, stream, offers and work give the same result.
// Thread safety: one thread at a time; streams share only the const context, which must outlive
// them.
class AnnealingLane {
 public:
  AnnealingLane(const SearchContext& context, std::uint64_t seed, std::uint32_t stream);

  // Precondition: a choice of the table's own and ranks in reach for every table.
  // Goes on from `start` where it is feasible and better than what the stream has. The first offer
  // is what the number of moved shards is counted against.
  void offer(const Allocation& start);
  // Spends about `work` units (updates of a rank or a shard); returns early when the best rating
  // is within 1e-9 of `lower_bound` or the budget is interrupted.
  void run(std::uint64_t work, double lower_bound, const Budget& budget);

  // The best feasible allocation so far; nothing while there is none.
  const std::optional<RatedAllocation>& best() const { return best_; }
  std::uint64_t work() const { return annealer_.work(); }

 private:
  void begin_round(double lower_bound);
  void construct_start(double bound);
  bool begins_anew(double bound) const;
  double aim_anew(double bound);
  bool begins_below(double bound);
  double start_below(double bound);
  void choose_target(double lower_bound);
  double typical_gain() const;
  void even_out(std::uint64_t work);
  void keep_best();
  void settle_best();
  bool at_bound(double lower_bound) const;

  const SearchContext* context_;
  std::uint32_t stream_;
  AllocationState loads_;
  AllocationState polished_;  // scratch for whole allocations
  Annealer annealer_;
  PairBalancer pair_balancer_;
  std::optional<RatedAllocation> best_;
  std::optional<Allocation> reference_;
  bool settled_ = false;  // ties are settled for the best
  double unlikely_ = 0;   // a rating that no choices were found for
  std::uint64_t rounds_ = 0;
  std::uint64_t steps_left_ = 0;  // of the round
  double temperature_ = 0;
  double cooling_ = 1;  // per kBlock steps
};

}  // namespace shardwright::embedding
