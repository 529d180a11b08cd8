// The best choices and places of a few tables, all else fixed: branch and bound.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/best/exact/rank_symmetry.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

// What is placed anew: a table with its choice, or one shard of a table whose choice stays.
struct FreeItem {
  static constexpr std::uint32_t kWholeTable = ~std::uint32_t{0};

  std::uint32_t table = 0;
  std::uint32_t slot = kWholeTable;
};

struct Subproblem {
  std::span<const FreeItem> items;
  std::span<const Rank> window;  // ascending; where shards may go unless they go on all ranks
  double below = 0;              // what the largest load of the window must be less than
  double limit = 0;              // the same of other ranks
  std::uint64_t work = 0;        // at most about so many updates of a rank
};

struct SubproblemAnswer {
  bool better = false;    // there is an allocation below; the loads hold the best one found
  bool complete = false;  // nothing was left out: none is better, by more than kLeastGain
};

// Tables are decided one after the other, the largest first, shard by shard. A branch ends where a
// rank is too full, a rule is broken, or what remains needs more load or memory than the open ranks
// have left, at one of several prices. Only the first of equal ranks is tried, and equal shards
// only in the order of ranks. Thread safety: one thread at a time. Refers to the loads.
class BranchAndBound {
 public:
  static constexpr double kLeastGain = 1e-11;  // relative

  explicit BranchAndBound(AllocationState& loads);

  // Precondition: no rule is broken and no two items share a shard. Tables that have no choice yet
  // must be items. Where nothing is found, the loads are as before.
  SubproblemAnswer solve(const Subproblem& question);

  std::uint64_t work() const { return work_; }

 private:
  static constexpr std::size_t kPrices = 4;
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};
  using Priced = std::array<double, kPrices>;

  // The least that one shard takes.
  struct Least {
    double load = 0;
    std::int64_t hbm_bytes = 0;
    std::int64_t ddr_bytes = 0;
  };
  struct Item {
    FreeItem free;
    ShardUse use;                    // of the one shard
    std::uint32_t first_choice = 0;  // into choices_, the cheapest first
    std::uint32_t num_choices = 0;
    double size = 0;
    Priced least_priced{};
    Least least;
    // Of this item and all that follow:
    Priced needed{};
    Least smallest;
    bool like_before = false;  // a shard equal to that of the item before
  };
  struct Placed {
    std::uint32_t choice = 0;
    std::vector<Rank> ranks;
  };
  // Ranks in reach, as indices into window_.
  struct Part {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void collect(std::span<const FreeItem> items);
  void collect_choices(Item& item);
  void order_items();
  double priced(std::size_t price, double load, std::int64_t hbm, std::int64_t ddr) const;
  Priced priced_in_window(const Choice& choice) const;
  void begin_symmetry();
  void take_items();
  void note_best();

  bool cut() const { return work_ >= end_of_work_; }
  bool may_end_well(std::size_t depth);
  void visit(std::size_t depth);
  void visit_choice(std::size_t depth, std::uint32_t choice);
  void visit_shards(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard,
                    Part part);
  void visit_blocks(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard);
  bool add(Rank rank, const ShardUse& use);
  bool add_everywhere(const Choice& choice);
  void keep_best();
  Part host_part(std::uint32_t host) const;
  bool has_earlier_twin(std::size_t index, Part part) const;
  bool has_earlier_twin_host(std::uint32_t host) const;
  std::size_t first_place(std::size_t depth, std::span<const ShardUse> uses, std::size_t shard,
                          Part part) const;

  AllocationState* loads_;
  RankSymmetry symmetry_;
  std::vector<Rank> window_;
  std::vector<std::uint32_t> position_;  // in the window, by rank; kOutside
  std::vector<std::uint32_t> hosts_;     // with ranks in the window, ascending
  std::vector<Item> items_;
  std::vector<std::uint32_t> choices_;
  std::array<MemoryPrices, kPrices> prices_{};
  std::array<double, kPrices> load_price_{};
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
