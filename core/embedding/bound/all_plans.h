// A depth-first search over all plans.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/embedding/bound/rank_contents.h"
#include "core/embedding/bound/rank_pricing.h"
#include "core/embedding/bound/shard_prices.h"
#include "core/embedding/bound/table_choices.h"
#include "core/embedding/plan.h"

namespace shardwright::embedding {

// The search states that were tried without success. A state determines whether the remaining
// tables can be placed. It consists of these tables, the contents of the ranks, the ranks or hosts
// of groups of tables, and the charges so far. States are equal if they differ only by an exchange
// of interchangeable ranks or hosts. Whole states are stored: forged certificates could make hashes
// collide.
// Thread safety: one thread at a time. Refers to its arguments.
class TriedStates {
 public:
  // Loads are rounded to multiples of 1e-14 x `target`. Plans through two equal states differ in
  // rating by at most one such multiple per table, which is far below kRatingSlack.
  TriedStates(const RankContents& ranks, double target, StepLimit& limit);

  using State = std::string;
  // Returns an empty state if there are over 64 ranks or groups of tables. insert() ignores it.
  State state(const TableSet& remaining, const RemainingTables& remaining_tables);
  bool contains(const State& state) const { return states_.count(state) > 0; }
  // Does nothing once the stored states take 32 MiB.
  void insert(State state);

 private:
  // The kind of a rank with respect to the remaining tables, and its contents.
  struct RankKey {
    Rank kind = 0;  // the first rank of this kind
    double load = 0;
    PerTier<double> bytes = {};
    std::uint64_t groups = 0;  // bit g: the rank holds a table of group g

    friend auto operator<=>(const RankKey&, const RankKey&) = default;
  };

  RankKey key_of(Rank rank, const RemainingTables& remaining_tables) const;
  void sort_keys(const RemainingTables& remaining_tables);

  const RankContents& ranks_;
  StepLimit& limit_;
  double unit_;  // rounding unit of loads
  std::vector<RankKey> keys_;
  std::size_t bytes_ = 0;
  std::unordered_set<State> states_;
};

// Skips symmetric candidates. Visits ranks or hosts in ascending order and keeps the first one of
// each set of interchangeable ranks or hosts.
// Thread safety: one thread at a time. Refers to its arguments.
class TriedOrbits {
 public:
  TriedOrbits(const RankContents& ranks, const RemainingTables& remaining_tables, StepLimit& limit)
      : ranks_(ranks), outlook_(remaining_tables), limit_(limit) {}

  // Returns true if no rank visited before is interchangeable with this rank.
  bool is_new(Rank rank);
  bool is_new_host(std::uint32_t host);

 private:
  const RankContents& ranks_;
  const RemainingTables& outlook_;
  StepLimit& limit_;
  boost::container::small_vector<Rank, 16> kept_;  // with hosts_matter, only ranks of the last host
  boost::container::small_vector<std::uint32_t, 16> hosts_;
  std::uint32_t last_host_ = 0;
  bool seen_host_ = false;
  bool last_is_new_ = false;
};

// Enumerates all plans depth-first. The next table is the one with the fewest placements. A branch
// is pruned if a table has no placement left. It is also pruned if, at one of the sets of prices,
// the remaining tables at their cheapest cost more than the capacity left on ranks that can take a
// shard. Pruning is valid at any prices that are not negative; good prices prune early. If pricing
// all remaining tables at every node would take too long, prices prune at the root only. Tables
// with rules are then placed first, then the largest. States that were tried are skipped. Choices
// are tried in ascending order of their cost at the first set of prices. The path from the root is
// a stack, so that the search can pause.
// Thread safety: one thread at a time. Refers to its arguments.
class AllPlans {
 public:
  AllPlans(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
           std::vector<ChoicesOfTable> tables, std::vector<RankPriceSet> prices, StepLimit& limit);

  // Runs until a plan is found or all plans were tried. With an improvement, goes on after each
  // plan until no better plan exists. Pauses and returns false once at most `pause_at` steps are
  // left; the next call continues. Pauses change neither the answer nor the number of steps.
  bool run(std::uint64_t pause_at = 0);
  // The plan found last, if any.
  const std::optional<Plan>& found() const { return found_; }
  // The final target; 0 without a target.
  double target() const { return any_valid_ ? 0 : target_; }

 private:
  // The next shard of a choice, to be placed on one of the ranks [first, end). For a choice that
  // fills hosts, the next block of shards, to be placed on a host in this range.
  struct Step {
    std::size_t table = 0;
    const TableChoice* choice = nullptr;
    std::uint32_t width = 0;  // entries of choice->shards that are placed at once
    std::size_t group = 0;    // index into choice->shards
    std::uint32_t done = 0;   // shards of the group, or blocks, already placed
    Rank first = 0;
    Rank end = 0;
    Rank least = 0;  // the rank of the equal shard placed before
  };
  // The candidate places of the shard or block of a step.
  struct Branch {
    Step step;
    std::size_t next_place = 0;
    std::size_t end_place = 0;
    std::optional<TriedOrbits> tried_orbits;  // ranks or hosts tried before
    PriceSums left;                           // Level::left before a place is tried
    bool is_placed = false;
  };
  // The state of the search at a table whose choices are tried.
  struct Level {
    std::size_t table = 0;
    std::size_t next_choice = 0;
    Rank next_first = 0;                      // first rank for shards of `next_choice`
    std::optional<TriedOrbits> tried_orbits;  // first ranks tried before
    TriedStates::State state;                 // before the table is placed; empty if not stored
    std::size_t first_branch = 0;             // index into branches_
    PriceSums later;                          // least cost of all tables after this table
    PriceSums left;                           // value of all ranks that can take a shard
    std::vector<PriceSums> rest;  // rest[i]: least cost of the groups of equal shards from i on
    RemainingTables remaining_tables;
  };
  struct Placed {
    const TableChoice* choice = nullptr;
    std::vector<Rank> ranks;
  };

  bool is_over() const { return (found_ && improvement_ == 0) || limit_.is_over(); }
  Level& level() { return levels_[num_placed_]; }

  void sort_choices();
  void sort_tables(const SearchSpace& space);
  void accept();
  std::optional<std::size_t> next_table(Level& level);
  std::optional<std::size_t> cheapest_next(Level& level);
  bool enter_level();
  void leave_level();
  bool try_next_choice();
  bool try_next_first(const TableChoice& choice);
  bool price_rest(const Step& step, Level& level);
  bool can_pay(const Step& step, const Level& level) const;
  void enter_shards(const Step& step);
  bool try_next_place();
  void place(Branch& branch, std::size_t place);
  void take_back(Branch& branch);
  bool may_all_be_on(const Step& step, std::size_t place) const;

  const SearchSpace& space_;
  const Topology& available_;
  bool any_valid_;  // true without a target
  double target_;
  double improvement_;
  StepLimit& limit_;
  std::vector<ChoicesOfTable> tables_;
  RankContents ranks_;
  ShardPrices prices_;
  TriedStates tried_;
  std::vector<Level> levels_;                 // by number of placed tables
  std::vector<std::size_t> order_;            // of tables, if prices are used at the root only
  std::vector<Placed> placed_;                // by table
  std::vector<RankContents::Before> before_;  // a stack
  std::deque<Branch> branches_;               // a stack; entries after num_branches_ are for reuse
  std::size_t num_branches_ = 0;
  TableSet remaining_;
  std::size_t num_placed_ = 0;
  bool prices_everywhere_ = true;
  bool has_begun_ = false;
  std::optional<Plan> found_;
};

}  // namespace shardwright::embedding
