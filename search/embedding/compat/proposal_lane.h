// The evaluation of proposals, and the parts of the search that a caller may replace.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "search/budget.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/partitioners.h"
#include "search/embedding/compat/proposals.h"
#include "search/embedding/compat/proposers.h"
#include "search/embedding/compat/rating.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// A caller's proposers, partitioner, rating model and cost model, which replace those that the
// problem names. An empty member replaces nothing. Every search calls the factories, which must not
// return null. An exception of such an object ends the search and reaches the caller.
// Thread safety: a value. Workers make their own partitioners and rating models, so these factories
// are called from many threads at once.
struct SearchParts {
  // `available` is the topology after reservation; pool and topology outlive the proposer.
  using MakeProposer =
      std::function<std::unique_ptr<Proposer>(const OptionPool& pool, const Topology& available)>;
  using MakePartitioner = std::function<std::unique_ptr<Partitioner>(const Problem& problem)>;
  using MakeRatingModel = std::function<std::unique_ptr<RatingModel>(const Problem& problem)>;

  std::vector<MakeProposer> proposers;  // run one after the other; empty = the problem's proposers
  MakePartitioner partitioner;
  MakeRatingModel rating_model;
  std::shared_ptr<const CostModel> cost_model;
};

// Partitions and rates one proposal after the other. Updates the state of the last proposal by the
// changes to the next.
// Thread safety: none; one worker uses it.
class ProposalLane {
 public:
  ProposalLane(const OptionPool& pool, const Topology& available, const SearchParts& parts);

  // Takes proposal `index` of the batch. Cost: O(tables), or less if few changes lead from the
  // proposal taken last to this one.
  void take(const ProposalBatch& batch, std::size_t index);
  // Call before the first proposal of another batch.
  void invalidate() { taken_ = kNothing; }
  std::size_t taken() const { return taken_; }

  // start() and then run() partition the proposal taken. They allocate only at first.
  void start();
  bool running() const { return greedy_ != nullptr && greedy_->running(); }
  template <class Stopped>
  void run(Stopped& stopped) {
    while (running() && !stopped())
      greedy_->step();
  }
  // Advances two lanes at once, until one of them ends. Precondition: `a` and `b` differ.
  template <class Stopped>
  static void run_together(ProposalLane& a, ProposalLane& b, Stopped& stopped) {
    while (a.running() && b.running() && !stopped())
      GreedyPerfPartitioner::step_together(*a.greedy_, *b.greedy_);
  }
  // Returns the outcome. If the rating certainly exceeds `bound`, it is not computed and infinite.
  // Precondition: !running().
  ProposalOutcome finish(double bound);

  // Copies options and ranks of the proposal just finished. Precondition: it was feasible.
  // Allocates only if the vectors of `saved` are too small.
  void save(BestCandidate& saved) const {
    saved.options.assign(options_.begin(), options_.end());
    const auto ranks = placement_.all_ranks();
    saved.ranks.assign(ranks.begin(), ranks.end());
  }
  // The hash of all ranks of the proposal just finished. Precondition: it was feasible.
  std::string ranks_sha1() const;

 private:
  static constexpr std::size_t kNothing = ~std::size_t{0};

  void walk(const ProposalBatch& batch, std::size_t index);
  void jump(const ProposalBatch& batch, std::size_t index);

  const OptionPool* pool_;
  std::unique_ptr<Partitioner> partitioner_;
  GreedyPerfPartitioner* greedy_;  // partitioner_ if it works in steps, else null
  std::unique_ptr<RatingModel> rating_model_;
  Placement placement_;
  GroupOrder order_;
  bool feasible_ = false;
  std::vector<OptionId> options_;
  std::size_t taken_ = kNothing;
  std::vector<OptionId> previous_;  // scratch of jump
  std::vector<std::uint32_t> changed_positions_;
};

// Evaluates ranges of a batch on two lanes at once. Placing a shard depends on the shard before,
// but not on shards of other proposals, so the processor overlaps two proposals in little more time
// than one. Each lane takes half of the range, because neighbours differ least.
// Thread safety: none; one per worker.
class ProposalEvaluator {
 public:
  ProposalEvaluator(const OptionPool& pool, const Topology& available, const SearchParts& parts)
      : left_(pool, available, parts), right_(pool, available, parts) {
    best_.options.reserve(pool.tables().size());
    best_.ranks.reserve(pool.num_rank_slots());
  }

  // Evaluates the candidates i of [begin, end) for which wanted(i) is true, and offers the best of
  // them to the batch if it is better than all earlier batches. Calls done(lane, outcome) for each
  // evaluated candidate, in no particular order. Without `every_rating`, a rating is infinite if it
  // is certainly worse than another rating of this or an earlier batch. Once the budget is
  // interrupted, no further candidate gets an outcome.
  template <class Wanted, class Done>
  void evaluate(CandidateBatch& batch, std::size_t begin, std::size_t end, bool every_rating,
                const Budget& budget, const Wanted& wanted, const Done& done) {
    StepCheck stopped{&budget};
    if (serial_ != batch.serial) invalidate();
    serial_ = batch.serial;
    best_.clear();
    const std::size_t middle = begin + (end - begin) / 2;
    Half halves[] = {{&left_, begin, middle}, {&right_, middle, end}};
    const auto start = [&](Half& half) { return start_next(batch.proposals, half, wanted); };
    const double to_beat = rating_to_beat(batch);
    const auto finish = [&](Half& half) {
      const double bound = every_rating ? kUnbounded : std::min(to_beat, best_.rating);
      const ProposalOutcome outcome = half.lane->finish(bound);
      if (outcome.feasible && outcome.rating < to_beat) keep_if_best(*half.lane, outcome.rating);
      done(*half.lane, outcome);
      return start(half);
    };

    bool left = start(halves[0]);
    bool right = start(halves[1]);
    while (left && right && !stopped.known) {
      ProposalLane::run_together(left_, right_, stopped);
      if (stopped.known) break;
      if (!left_.running()) left = finish(halves[0]);
      if (!right_.running()) right = finish(halves[1]);
    }
    for (Half& half : halves) {
      for (bool more = half.lane == &left_ ? left : right; more; more = finish(half)) {
        half.lane->run(stopped);
        if (stopped.known) break;
      }
    }
    if (best_.index == BestCandidate::kNone) return;
    seen_rating_ = best_.rating;
    seen_serial_ = batch.serial;
    batch.offer_best(best_);
  }

  // Evaluates one candidate and returns it with its ranks, valid until the next call.
  const BestCandidate& evaluate_one(const CandidateBatch& batch, std::size_t index) {
    invalidate();
    best_.clear();
    left_.take(batch.proposals, index);
    left_.start();
    const auto never = [] { return false; };
    left_.run(never);
    keep_if_best(left_, left_.finish(kUnbounded).rating);
    return best_;
  }

 private:
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

  // Asks the budget every few steps of the partitioner. A step places a table or sorts the hosts.
  struct StepCheck {
    const Budget* budget;
    unsigned steps = 0;
    bool known = false;  // the budget was interrupted

    bool operator()() {
      constexpr unsigned kSteps = 16;
      if (++steps % kSteps == 0) known = budget->interrupted().has_value();
      return known;
    }
  };

  struct Half {
    ProposalLane* lane;
    std::size_t next;
    std::size_t end;
  };

  void invalidate() {
    left_.invalidate();
    right_.invalidate();
    serial_ = 0;
  }

  // Returns the best rating known from earlier batches. The rating that this worker has seen counts
  // only if it is of this or an earlier batch, so that the answer does not depend on timing.
  double rating_to_beat(const CandidateBatch& batch) const {
    const bool is_earlier = seen_serial_ <= batch.serial;
    return is_earlier ? std::min(batch.rating_to_beat, seen_rating_) : batch.rating_to_beat;
  }

  // Starts the next wanted proposal of the half. Returns false at its end.
  template <class Wanted>
  static bool start_next(const ProposalBatch& proposals, Half& half, const Wanted& wanted) {
    while (half.next < half.end && !wanted(half.next))
      ++half.next;
    if (half.next == half.end) return false;
    half.lane->take(proposals, half.next++);
    half.lane->start();
    return true;
  }

  void keep_if_best(const ProposalLane& lane, double rating) {
    if (!best_.loses_to(rating, lane.taken())) return;
    best_.index = lane.taken();
    best_.rating = rating;
    lane.save(best_);
  }

  ProposalLane left_;
  ProposalLane right_;
  std::uint64_t serial_ = 0;         // of the lanes' batch; 0 = none
  BestCandidate best_;               // best candidate of the range
  double seen_rating_ = kUnbounded;  // the last rating offered
  std::uint64_t seen_serial_ = 0;    // serial of the batch of seen_rating_
};

}  // namespace shardwright::embedding
