// Partitions and rates proposals: one worker's half of the search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "search/embedding/compat/proposal_lane.h"

namespace shardwright::embedding {

// Evaluates ranges of a batch on two lanes at once. Placing a shard waits for the one before it;
// shards of independent proposals do not wait for each other, so that two proposals take little
// longer than one. Each lane has its half of a range, where neighbours differ least.
// Thread safety: none; one per worker.
class ProposalEvaluator {
 public:
  ProposalEvaluator(const OptionPool& pool, const Topology& available, const SearchParts& parts)
      : left_(pool, available, parts), right_(pool, available, parts) {
    best_.placement.reserve(pool.num_rank_slots());
  }

  // The batch has been refilled.
  void invalidate() {
    left_.invalidate();
    right_.invalidate();
    best_.index = kNothing;
  }

  // Evaluates the proposals of [begin, end) for which wanted(i). Calls done(lane, outcome) for
  // each, in no particular order. Unless every rating is asked for, those are computed that may be
  // below `best_known` and below the best of this call.
  template <class Wanted, class Done>
  void evaluate(const ProposalBatch& batch, std::size_t begin, std::size_t end, double best_known,
                bool every_rating, const Wanted& wanted, const Done& done) {
    struct Half {
      ProposalLane* lane;
      std::size_t next;
      std::size_t end;
    };
    const std::size_t middle = begin + (end - begin) / 2;
    Half halves[] = {{&left_, begin, middle}, {&right_, middle, end}};
    // Starts the half's next proposal; false at its end.
    const auto start = [&](Half& half) {
      while (half.next < half.end && !wanted(half.next))
        ++half.next;
      if (half.next == half.end) return false;
      half.lane->take(batch, half.next++);
      half.lane->start();
      return true;
    };
    const auto finish = [&](Half& half) {
      const ProposalOutcome outcome = half.lane->finish(every_rating ? kUnbounded : best_known);
      if (outcome.feasible && outcome.rating <= best_known) {
        best_known = outcome.rating;
        keep_if_best(*half.lane, outcome.rating);
      }
      done(*half.lane, outcome);
      return start(half);
    };

    bool left = start(halves[0]);
    bool right = start(halves[1]);
    while (left && right) {
      ProposalLane::run_together(left_, right_);
      if (!left_.running()) left = finish(halves[0]);
      if (!right_.running()) right = finish(halves[1]);
    }
    for (Half& half : halves) {
      for (bool more = half.lane == &left_ ? left : right; more; more = finish(half)) {
        half.lane->run();
      }
    }
  }

  // The first of the best proposals of the batch that this worker has evaluated.
  bool has_best(std::size_t index) const { return best_.index == index; }

  // Where it placed the shards, for the content of `placement`.
  void take_best_placement(std::vector<Rank>& placement) {
    placement.swap(best_.placement);
    best_.index = kNothing;
  }

  // The lane with the placement of one proposal by itself.
  const ProposalLane& evaluate_one(const ProposalBatch& batch, std::size_t index) {
    left_.take(batch, index);
    left_.start();
    left_.run();
    left_.finish(kUnbounded);
    return left_;
  }

 private:
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  static constexpr std::size_t kNothing = ~std::size_t{0};

  struct Best {
    std::size_t index = kNothing;
    double rating = 0;
    std::vector<Rank> placement;
  };

  // Saving costs less than placing, and spares placing again.
  void keep_if_best(const ProposalLane& lane, double rating) {
    const std::size_t index = lane.taken();
    if (best_.index != kNothing &&
        (best_.rating < rating || (best_.rating == rating && best_.index < index))) {
      return;
    }
    best_.index = index;
    best_.rating = rating;
    lane.save_placement(best_.placement);
  }

  ProposalLane left_;
  ProposalLane right_;
  Best best_;  // of the batch
};

}  // namespace shardwright::embedding
