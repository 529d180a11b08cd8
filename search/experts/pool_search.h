// Local search over the placements of a pool of experts: swaps of two replicas, and slots that
// change from a replica of one expert to a replica of another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/experts/bound.h"
#include "core/experts/expert_plan.h"
#include "search/budget.h"
#include "search/random.h"

namespace shardwright::experts {

// Experts on GPUs, with loads in several windows. Experts are numbered by their place in the pool.
struct SearchPool {
  Pool pool;  // its loads decide the order of experts
  std::size_t num_windows = 1;
  std::vector<double> loads;   // [experts of the pool][windows]
  std::vector<double> speeds;  // [gpus]
  Over over = Over::kMean;     // mean over windows of the busiest GPU, or the worst of all windows
};

// The cost of moving: what a placement pays for each slot whose expert was not on the GPU before.
struct MoveCost {
  const Expert* old = nullptr;  // [slots of the pool]
  double per_move = 0;
};

// The state of a local search. All changes that it makes keep repeats as forbidden as they were.
// Thread safety: one thread at a time.
class PoolSearch {
 public:
  explicit PoolSearch(SearchPool search_pool);

  // Gives slots to experts so that the largest share is least, then packs the replicas: the largest
  // first, each on the GPU with the least time that has room and no replica of the expert. O(slots
  // * gpus).
  void place_greedily();
  // Takes a placement. Precondition: every expert of the pool has a slot, and none has too many.
  void place(const Expert* slots);
  void charge_moves(MoveCost cost);

  // Makes the best change that involves the busiest GPU, if one lowers the score. Swaps come first,
  // then replicas change. Returns false at a local optimum. O((slots + experts) * slots per GPU).
  bool step();
  // Steps until the busiest time is at most `target`, or a local optimum. Returns false if stopped.
  bool descend(double target, StopCheck& stop);
  // Descends, then kicks and descends again `kicks` times, and keeps the best placement: each kick
  // swaps a few replicas and changes one, drawn by `key`.
  void search(double target, std::size_t kicks, std::uint64_t key, StopCheck& stop);

  // Mean over windows of the busiest GPU, or the worst.
  double time() const { return time_; }
  // time(), and what the moves cost.
  double score() const { return time_ + move_cost_.per_move * static_cast<double>(moved_); }
  std::size_t moved() const { return moved_; }
  // Appends the experts of all slots.
  void append_slots(std::vector<Expert>& out) const;
  std::uint64_t work() const { return work_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Change {
    double score = std::numeric_limits<double>::infinity();
    std::size_t slot_a = 0;
    std::size_t slot_b = 0;        // of a swap
    std::uint32_t expert = kNone;  // of a change of replicas: what slot_a gets
    double local = std::numeric_limits<double>::infinity();  // of a swap: the later of its GPUs
  };

  struct Busiest {
    std::uint32_t gpu = 0;
    double time = 0;
  };
  static constexpr std::size_t kTop = 4;

  void recount();
  std::vector<std::uint32_t> places() const;
  void rank_gpus();
  double rest(std::size_t window, std::size_t gpu_a, std::size_t gpu_b) const;
  void try_swaps(std::size_t window, std::size_t gpu, Change& best);
  void try_swaps_with(std::size_t window, std::size_t gpu, std::size_t other, Change& best);
  double swap_score(std::size_t window, std::size_t slot_a, std::size_t slot_b) const;
  void try_replicas(std::size_t window, std::size_t gpu, Change& best);
  bool may_leave(std::size_t window, std::size_t gpu, std::size_t slot) const;
  void try_replica(std::size_t window, std::size_t gpu, std::size_t slot, std::uint32_t expert,
                   Change& best);
  double replica_score(std::size_t window, std::size_t slot, std::uint32_t expert);
  std::ptrdiff_t moves_of(std::size_t gpu, std::uint32_t leaves, std::uint32_t comes) const;
  bool was_on(std::size_t gpu, std::uint32_t expert) const;
  void apply(const Change& change);
  void swap_slots(std::size_t slot_a, std::size_t slot_b);
  void change_replica(std::size_t slot, std::uint32_t expert);
  void set_share(std::uint32_t expert);
  void kick(RandomGenerator& random);
  void touch(std::size_t gpu);
  void touch_replicas(std::uint32_t expert, std::int32_t change);
  void attach(std::size_t at, std::uint32_t expert);
  void detach(std::size_t slot);
  void add_replicas(std::uint32_t expert, double sign);
  void deal();
  std::size_t gpu_of(std::size_t slot) const { return slot / per_gpu_; }
  double over_windows(double sum, double time) const {
    return pool_.over == Over::kMean ? sum + time / static_cast<double>(windows_)
                                     : std::max(sum, time);
  }
  double local_weight() const;
  double accepted_score(std::size_t window) const;

  bool may_take(std::size_t gpu, std::uint32_t expert) const {
    return !pool_.pool.forbids_repeats || on_[expert * gpus_ + gpu] == 0;
  }
  double* load(std::size_t gpu) { return loads_.data() + gpu * windows_; }
  const double* load(std::size_t gpu) const { return loads_.data() + gpu * windows_; }
  const double* share(std::uint32_t expert) const { return shares_.data() + expert * windows_; }

  SearchPool pool_;
  std::size_t windows_;
  std::size_t gpus_;
  std::size_t per_gpu_;
  std::vector<double> slowness_;      // 1 / speed
  std::vector<std::uint32_t> slots_;  // expert per slot
  std::vector<std::int32_t> counts_;  // replicas per expert
  std::vector<std::uint16_t> on_;     // [experts][gpus]: replicas
  // The slots of an expert are a ring: its first slot, and the next and the previous one of a slot.
  std::vector<std::uint32_t> first_, next_, previous_;
  std::vector<double> shares_;          // [experts][windows]
  std::vector<double> loads_;           // [gpus][windows]
  std::vector<std::size_t> least_gpu_;  // [windows]: the GPU with the least time
  std::vector<Busiest> top_;            // [windows][kTop], busiest first
  std::vector<std::uint8_t> was_on_;    // [experts][gpus], empty without an old placement
  std::vector<double> changed_;         // [gpus][windows], scratch of replica_score()
  std::vector<std::uint32_t> touched_;  // scratch: GPUs with an entry in changed_
  std::vector<std::uint8_t> is_touched_;
  MoveCost move_cost_;
  double time_ = 0;
  std::size_t moved_ = 0;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::experts
