// The tree of all plans.
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

// Whether the remaining tables can be placed depends on what the ranks hold, on which groups of
// tables are where and on the charges so far, but not on how that came about, and not on which of
// several interchangeable ranks or hosts is which. States are kept as a whole, since a hash of them
// could be forged. Thread safety: one thread at a time. Refers to its arguments.
class TriedStates {
 public:
  // Loads that differ by less than a tiny part of `target` are the same: plans through the two
  // states rate the same but for one such part per table, which is far less than kRatingSlack.
  TriedStates(const RankContents& ranks, double target, StepLimit& limit);

  using State = std::string;
  // Returns an empty state, which is never kept, if there are many ranks.
  State state(const TableSet& remaining, const Outlook& outlook);
  bool contains(const State& state) const { return states_.count(state) > 0; }
  // Does nothing once much memory is used.
  void insert(State state);

 private:
  // What a rank is, to the remaining tables, and what it holds.
  struct RankKey {
    Rank kind = 0;  // the first rank that is alike
    double load = 0;
    PerTier<double> bytes = {};
    std::uint64_t groups = 0;  // that have a table here, as bits

    friend auto operator<=>(const RankKey&, const RankKey&) = default;
  };

  RankKey key_of(Rank rank, const Outlook& outlook) const;
  void sort_keys(const Outlook& outlook);

  const RankContents& ranks_;
  StepLimit& limit_;
  double unit_;  // of load
  std::vector<RankKey> keys_;
  std::size_t bytes_ = 0;
  std::unordered_set<State> states_;
};

// Sees ranks, or hosts, in ascending order, and keeps the first of those that are alike.
// Thread safety: one thread at a time. Refers to its arguments.
class Twins {
 public:
  Twins(const RankContents& ranks, const Outlook& outlook, StepLimit& limit)
      : ranks_(ranks), outlook_(outlook), limit_(limit) {}

  // Returns true if no earlier rank is like this one.
  bool is_new(Rank rank);
  bool is_new_host(std::uint32_t host);

 private:
  const RankContents& ranks_;
  const Outlook& outlook_;
  StepLimit& limit_;
  boost::container::small_vector<Rank, 16> kept_;  // on the last host only where hosts matter
  boost::container::small_vector<std::uint32_t, 16> hosts_;
  std::uint32_t last_host_ = 0;
  bool seen_host_ = false;
  bool last_is_new_ = false;
};

// Depth-first, table by table, the one with the fewest places next. A branch ends if a table has no
// place left, or if at one set of prices the remaining tables, each with its cheapest choice and
// ranks, cost more than what the ranks that can take a shard have left is worth. That holds for any
// prices that are not negative; good ones end branches early. If looking at all remaining tables
// for every table that is placed would take too long, prices count at the root only, and tables
// with rules are placed first, then the largest. A state that was tried is not tried again. Choices
// that cost less at the first prices are tried first. The way from the root is kept as a stack, so
// that the search can pause.
// Thread safety: one thread at a time. Refers to its arguments.
class AllPlans {
 public:
  AllPlans(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
           std::vector<ChoicesOfTable> tables, std::vector<RankPriceSet> prices, StepLimit& limit);

  // Ends with the first plan that counts, unless better ones are asked for, or if no step is left.
  // Pauses, and returns false, once at most `pause_at` steps are left; the next call goes on. That
  // changes neither the answer nor the number of steps.
  bool run(std::uint64_t pause_at = 0);
  // The last one.
  const std::optional<Plan>& found() const { return found_; }
  // In the end; 0 without one.
  double target() const { return any_valid_ ? 0 : target_; }

 private:
  // Shards of one choice on their way to ranks from `first` to `end`, or blocks on their way to
  // hosts.
  struct Step {
    std::size_t table = 0;
    const TableChoice* choice = nullptr;
    std::uint32_t width = 0;  // groups of equal shards that are placed at once
    std::size_t group = 0;    // of equal shards
    std::uint32_t done = 0;   // shards of the group, or blocks, that are placed
    Rank first = 0;
    Rank end = 0;
    Rank least = 0;  // of equal shards, those before are on ranks up to this one
  };
  // The places of the next shard, or block, of a step, while they are tried.
  struct Branch {
    Step step;
    std::size_t next_place = 0;
    std::size_t end_place = 0;
    std::optional<Twins> twins;  // of ranks or hosts that were tried
    PriceSums left;              // of the level, before a place is tried
    bool is_placed = false;
  };
  // A table while its choices are tried.
  struct Level {
    std::size_t table = 0;
    std::size_t next_choice = 0;
    Rank next_first = 0;           // where shards of that choice may begin
    std::optional<Twins> twins;    // of where they have begun
    TriedStates::State state;      // without the table; empty if it is not kept
    std::size_t first_branch = 0;  // of its shards
    PriceSums later;               // the least that the tables after it cost
    PriceSums left;                // what the ranks that can take a shard are worth
    std::vector<PriceSums> rest;   // the least that groups of equal shards from the i-th on cost
    Outlook outlook;
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
  bool any_valid_;  // without a target
  double target_;
  double improvement_;
  StepLimit& limit_;
  std::vector<ChoicesOfTable> tables_;
  RankContents ranks_;
  ShardPrices prices_;
  TriedStates tried_;
  std::vector<Level> levels_;                 // by number of tables that are placed
  std::vector<std::size_t> order_;            // of tables, if prices count at the root only
  std::vector<Placed> placed_;                // by table
  std::vector<RankContents::Before> before_;  // a stack
  std::deque<Branch> branches_;               // a stack of num_branches_, the rest is to be reused
  std::size_t num_branches_ = 0;
  TableSet remaining_;
  std::size_t num_placed_ = 0;
  bool prices_everywhere_ = true;
  bool has_begun_ = false;
  std::optional<Plan> found_;
};

}  // namespace shardwright::embedding
