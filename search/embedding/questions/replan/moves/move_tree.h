// The cheapest choices and ranks of a few tables, moves included: branch and bound.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/rank_state/allocation_state.h"
#include "search/embedding/questions/replan/costs/move_costs.h"
#include "search/embedding/questions/replan/moves/price_bound.h"

namespace shardwright::embedding {

struct TreeProblem {
  std::span<const std::uint32_t> tables;  // to be placed anew; the others stay
  double below = 0;                       // what the cost must be less than
  std::uint64_t work = 0;                 // at most about so many updates of a rank
  int price_steps = 0;                    // for the bound, before the tree is searched
};

struct TreeAnswer {
  bool better = false;    // placed() is the best allocation of the tables, and below
  bool complete = false;  // the whole tree was searched
  double cost = 0;        // of the best allocation, if better
};

// Depth-first. Tables are decided one after another, shard by shard. A branch ends if a rank is too
// full, if a rule is broken, or if a lower bound of its cost is not below the best one: the largest
// load so far plus the least moves of the rest, and the bounds of two sets of prices (PriceBound).
// Symmetry breaking: of ranks that hold the same, and nothing of the tables that are left, only the
// first is tried.
// Thread safety: one thread at a time. Refers to the allocation, the costs and the bound.
class MoveTree {
 public:
  struct Placed {
    std::uint32_t table = 0;
    std::uint32_t choice = 0;
    std::vector<Rank> ranks;
  };

  MoveTree(AllocationState& state, const MoveCosts& costs, PriceBound& bound);

  // Preconditions: the other tables have choices and break no rule by themselves. The allocation is
  // as before afterwards.
  TreeAnswer solve(const TreeProblem& problem, const Budget& budget);
  std::span<const Placed> placed() const { return best_; }
  // The prices of the last problem, from which the next one starts.
  RankPrices& prices() { return prices_[1]; }

  std::uint64_t work() const { return work_; }

 private:
  // No load counts; the best prices; all loads count alike.
  static constexpr std::size_t kPrices = 3;
  using Priced = std::array<double, kPrices>;

  struct TreeChoice {
    std::uint32_t choice = 0;
    Priced least{};
    std::size_t first_rest = 0;  // into rest_: what shards from the i-th on take at least
  };
  struct Item {
    std::uint32_t table = 0;
    std::vector<TreeChoice> choices;
    Priced rest{};  // of all items after this one
  };
  // Ranks that a shard may be on.
  struct Part {
    Rank first = 0;
    std::uint32_t count = 0;
  };

  void take_away();
  void prepare(const TreeProblem& problem, const Budget& budget);
  void add_item(std::uint32_t table);
  void add_rest(TreeChoice& choice);
  void find_symmetry();
  bool is_cut();
  bool may_be_below(const Priced& sum, double load) const;
  void visit(std::size_t depth, const Priced& sum, double load);
  void visit_choice(std::size_t depth, const TreeChoice& choice, const Priced& sum, double load);
  void visit_shards(std::size_t depth, const TreeChoice& choice, std::uint32_t shard, Part part,
                    const Priced& sum, double load);
  void visit_blocks(std::size_t depth, const TreeChoice& choice, std::uint32_t shard,
                    const Priced& sum, double load);
  // Adds a shard and its prices. Returns false if the branch ends.
  bool add(Rank rank, const ShardUse& use, double moved, Priced& sum, double& load);
  bool have_same(Rank a, Rank b, std::size_t depth) const;
  bool has_earlier_twin(Rank rank, Part part, std::size_t depth) const;
  bool has_earlier_twin_host(std::uint32_t host, std::size_t depth) const;
  bool is_like_before(std::uint32_t choice, std::uint32_t shard) const;

  AllocationState* state_;
  const MoveCosts* costs_;
  PriceBound* bound_;
  std::array<RankPrices, kPrices> prices_;
  std::vector<Item> items_;
  std::vector<Priced> rest_;
  std::vector<std::uint32_t> last_holding_;  // by rank: 1 + the last item that it holds a part of
  std::vector<std::uint8_t> symmetric_;      // by depth: no item from here on tells ranks apart
  std::vector<std::uint8_t> hosts_matter_;   // by depth: an item from here on is bound to hosts
  std::vector<Placed> placed_;               // by depth
  std::vector<Placed> best_;
  std::vector<std::pair<double, Rank>> order_;  // of ranks still to try; a stack
  double below_ = 0;
  bool found_ = false;
  bool interrupted_ = false;
  const Budget* budget_ = nullptr;
  std::uint64_t work_ = 0;
  std::uint64_t end_of_work_ = 0;
  std::uint64_t next_check_ = 0;
};

}  // namespace shardwright::embedding
