// Partitions and rates proposals: one worker's half of the search.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "search/embedding/proposal_lane.h"

namespace shardwright::embedding {

// Evaluates ranges of a batch on several lanes in turn. Placing a shard waits for the one before
// it; shards of independent proposals do not wait for each other, so that alternating between lanes
// fills the time.
// Thread safety: none; one per worker.
class ProposalEvaluator {
 public:
  ProposalEvaluator(const OptionPool& pool, const Topology& available) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      lanes_.push_back(std::make_unique<ProposalLane>(pool, available));
    }
  }

  // The batch has been refilled.
  void invalidate() {
    for (const auto& lane : lanes_) lane->invalidate();
  }

  // Evaluates those proposals of [begin, end) for which next(i), called in order, is the index to
  // go on from (`end` = no more): next(i) is the first index >= i that is wanted. Calls
  // done(lane, outcome) for each, in no particular order.
  template <class Next, class Done>
  void evaluate(const ProposalBatch& batch, std::size_t begin, std::size_t end, const Next& next,
                const Done& done) {
    std::size_t running = 0;
    std::size_t index = begin;
    const auto refill = [&](ProposalLane& lane) {
      index = index < end ? next(index) : end;
      if (index >= end) return false;
      lane.take(batch, index++);
      lane.start();
      return true;
    };
    ProposalLane* active[kLanes];
    for (const auto& lane : lanes_) {
      if (refill(*lane)) active[running++] = lane.get();
    }
    while (running > 0) {
      for (std::size_t i = 0; i < running;) {
        ProposalLane& lane = *active[i];
        if (lane.running()) {
          lane.step();
          ++i;
          continue;
        }
        done(lane, lane.finish());
        if (refill(lane)) continue;
        active[i] = active[--running];
      }
    }
  }

  // One proposal by itself; the lane then holds its options and ranks.
  ProposalLane& evaluate_one(const ProposalBatch& batch, std::size_t index) {
    ProposalLane& lane = *lanes_.front();
    lane.take(batch, index);
    lane.start();
    while (lane.running()) lane.step();
    lane.finish();
    return lane;
  }

 private:
  static constexpr std::size_t kLanes = 4;

  std::vector<std::unique_ptr<ProposalLane>> lanes_;
};

}  // namespace shardwright::embedding
