// The second stage of the compat search: one worker partitions and rates proposals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "search/budget.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/compat/proposals/candidate_batch.h"

namespace shardwright::embedding {

// Evaluates ranges of a batch on two lanes at once. Placing a shard waits for the one before it,
// but shards of independent proposals do not wait for each other, so two proposals take little
// longer than one. Each lane takes half of the range, because neighbours differ least.
// Thread safety: none; one per worker.
class ProposalEvaluator {
 public:
  ProposalEvaluator(const OptionPool& pool, const Topology& available, const SearchParts& parts)
      : left_(pool, available, parts), right_(pool, available, parts) {
    best_.options.reserve(pool.tables().size());
    best_.ranks.reserve(pool.num_rank_slots());
  }

  // Evaluates the candidates of [begin, end) for which wanted(i), and offers the best of them to
  // the batch if it beats everything known of earlier batches. Calls done(lane, outcome) for each,
  // in no particular order. Without `every_rating`, a rating that is certain to be worse than that
  // of another candidate of this or an earlier batch is infinite. Once the budget is interrupted,
  // no more candidates are done.
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

  // Places one candidate by itself.
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

  // Asks the budget every few steps of the partitioner: a step may be as short as placing one
  // table, and with many hosts as long as sorting them.
  struct StepCheck {
    const Budget* budget;
    unsigned steps = 0;
    bool known = false;  // it was interrupted

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

  // The lanes are at proposals of another batch.
  void invalidate() {
    left_.invalidate();
    right_.invalidate();
    serial_ = 0;
  }

  // This worker may know a better rating than the batch did when it was proposed. It counts only if
  // it comes from this or an earlier batch, so the answer does not depend on timing.
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

  // Saving costs less than placing again.
  void keep_if_best(const ProposalLane& lane, double rating) {
    if (!best_.loses_to(rating, lane.taken())) return;
    best_.index = lane.taken();
    best_.rating = rating;
    lane.save(best_);
  }

  ProposalLane left_;
  ProposalLane right_;
  std::uint64_t serial_ = 0;  // of the batch that the lanes are at; 0 = none
  BestCandidate best_;        // of the range
  double seen_rating_ = kUnbounded;  // the last rating offered
  std::uint64_t seen_serial_ = 0;    // to which batch
};

}  // namespace shardwright::embedding
