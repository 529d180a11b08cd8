// The best choices and ranks of a few tables, everything else fixed: branch and bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/best/exact/free_items.h"
#include "search/embedding/best/exact/rank_symmetry.h"
#include "search/embedding/best/exact/rank_window.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

struct Subproblem {
  std::span<const FreeItem> items;
  std::span<const Rank> window;  // ascending; shards go here unless they go on all ranks
  double below = 0;              // what the largest load of the window must be less than
  double limit = 0;              // the same for other ranks
  std::uint64_t work = 0;        // at most about so many updates of a rank
};

struct SubproblemAnswer {
  bool better = false;    // the loads hold the best allocation found, which is below
  bool complete = false;  // the whole tree was searched: none is better, by more than kLeastGain
};

// Depth-first. Tables are decided one after another, the largest first, shard by shard. A branch
// ends if a rank is too full, if a rule is broken, or if the remaining items need more load or
// memory than the open ranks have left, at one of several prices. Symmetry breaking: of identical
// ranks only the first is tried, and identical shards go to ranks in ascending order.
// Thread safety: one thread at a time. Refers to the allocation.
class BranchAndBound {
 public:
  static constexpr double kLeastGain = 1e-11;  // relative; less is rounding

  explicit BranchAndBound(AllocationState& state);

  // Preconditions: no rule is broken, no two items share a shard, and tables without a choice are
  // items. If nothing is found, the allocation is as before.
  SubproblemAnswer solve(const Subproblem& problem);

  // Updates of a rank so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Placed {
    std::uint32_t choice = 0;
    std::vector<Rank> ranks;
  };
  using Part = RankWindow::Part;

  void begin_symmetry();
  void take_items_away();
  void note_best();

  bool is_cut() const { return work_ >= end_of_work_; }
  bool may_fit(std::size_t depth);
  void visit(std::size_t depth);
  void visit_choice(std::size_t depth, std::uint32_t index);
  void visit_shards(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard,
                    Part part);
  void visit_blocks(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard);
  void visit_block_on(std::uint32_t host, std::size_t depth, std::span<const ShardUse> uses,
                      std::size_t shard);
  bool add(Rank rank, const ShardUse& use);
  bool add_everywhere(const Choice& choice);
  void keep_best();
  bool has_earlier_twin(std::size_t index, Part part) const;
  bool has_earlier_twin_host(std::uint32_t host) const;
  std::size_t first_place(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard,
                          Part part) const;

  AllocationState* state_;
  RankSymmetry symmetry_;
  RankWindow window_;
  FreeItems items_;
  std::vector<Placed> placed_;  // by depth
  std::vector<Placed> best_;
  std::vector<std::pair<double, std::size_t>> order_;  // of ranks still to try; a stack
  bool found_ = false;
  double below_ = 0;
  double limit_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t end_of_work_ = 0;
};

}  // namespace shardwright::embedding
