#include "core/embedding/bound/search/all_plans.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/embedding/bound/search/rank_contents.h"
#include "core/embedding/bound/search/shard_prices.h"
#include "core/embedding/bound/search/table_choices.h"

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Sums = PriceSums;

// Thread safety: one thread at a time.
class AllPlans {
 public:
  AllPlans(const SearchSpace& space, const Topology& available, double target,
           std::vector<RankPriceSet> prices, std::uint64_t& work)
      : tables_(all_choices(space, available, target)),
        ranks_(space, available, tables_),
        target_(target),
        prices_(ranks_, target, std::move(prices), work),
        work_(work),
        levels_(tables_.size()) {}

  std::optional<std::string> run() {
    if (tables_.empty()) return "the tables are too many to try all plans";
    place_tables((TableSet{1} << tables_.size()) - 1);
    if (found_) return "there is a plan below the bound";
    if (work_ == 0) return "trying all plans takes more steps than the check may";
    return std::nullopt;
  }

 private:
  // Shards of one choice on their way to ranks from `first` to `end`, or blocks on their way to
  // hosts.
  struct Step {
    std::size_t table;
    const TableChoice* choice;
    TableSet remaining;
    std::uint32_t width;     // groups of equal shards that are placed at once
    std::size_t group = 0;   // of equal shards
    std::uint32_t done = 0;  // shards of the group, or blocks, that are placed
    Rank first = 0;
    Rank end = 0;
    Rank least = 0;  // of equal shards, those before are on ranks up to this one
  };
  // A table while its shards are placed.
  struct Level {
    Sums later;              // the least that the tables after it cost
    Sums left;               // what the ranks that can take a shard are worth
    std::vector<Sums> rest;  // the least that groups of equal shards from the i-th on cost
  };

  bool is_over() const { return found_ || work_ == 0; }
  void spend(std::uint64_t steps) { work_ -= std::min(work_, steps); }

  // Returns the table with the fewest places; nothing if the remaining tables have no place below
  // the target.
  std::optional<std::size_t> next_table(TableSet remaining, Level& level) {
    prices_.begin();
    Sums needed(prices_.size(), 0);
    Sums of_next;
    std::size_t next = 0;
    double fewest = kInfinity;
    for (std::size_t table = 0; table < tables_.size(); ++table) {
      if ((remaining >> table & 1) == 0) continue;
      Sums least(prices_.size(), kInfinity);
      const double ways = prices_.price_table(tables_[table], table, least);
      if (ways == 0) return std::nullopt;
      for (std::size_t set = 0; set < needed.size(); ++set)
        needed[set] += least[set];
      if (ways >= fewest) continue;
      fewest = ways;
      next = table;
      of_next = std::move(least);
    }
    level.left = prices_.worth_of_useful();
    level.later = needed;
    if (prices_.is_too_much(needed, level.left) || !prices_.can_be_apart(remaining))
      return std::nullopt;
    for (std::size_t set = 0; set < needed.size(); ++set)
      level.later[set] -= of_next[set];
    return next;
  }

  void place_tables(TableSet remaining) {
    if (remaining == 0) found_ = true;
    if (is_over()) return;
    Level& level = levels_[tables_.size() - static_cast<std::size_t>(std::popcount(remaining))];
    const std::optional<std::size_t> table = next_table(remaining, level);
    if (!table) return;
    const std::uint32_t local = ranks_.ranks_per_host();
    for (const TableChoice& choice : tables_[*table].choices) {
      const std::uint32_t size = choice.form == Form::kOneHost ? local : ranks_.size();
      for (Rank first = 0; first < ranks_.size() && !is_over(); first += size) {
        const std::uint32_t width = choice.form == Form::kWholeHosts ? local : 1;
        const Step step{*table, &choice, remaining, width, 0, 0, first, first + size, 0};
        const bool try_it = size == ranks_.size() || !has_earlier_host(first / local, step);
        if (try_it && price_rest(step, level)) place_shards(step);
      }
    }
  }

  // Returns false if some shards of the choice have no place.
  bool price_rest(const Step& step, Level& level) {
    const std::vector<EqualShards>& shards = step.choice->shards;
    prices_.find_joins(step.table);
    level.rest.assign(shards.size() + 1, Sums(prices_.size(), 0));
    for (std::size_t i = shards.size(); i > 0; i -= step.width) {
      level.rest[i - step.width] = level.rest[i];
      if (prices_.price_shards(tables_[step.table], *step.choice, i - step.width, step.first,
                               step.end, level.rest[i - step.width]) == 0)
        return false;
    }
    return true;
  }
  // Returns true if what is left may pay for the shards that are yet to be placed.
  bool can_pay(const Step& step, const Level& level) const {
    const bool inside = step.group < step.choice->shards.size();
    const double part =
        inside ? 1 - static_cast<double>(step.done) / step.choice->shards[step.group].count : 0;
    Sums needed = level.rest[inside ? step.group + step.width : step.group];
    for (std::size_t set = 0; set < needed.size(); ++set) {
      const double after = needed[set];
      needed[set] += level.later[set];
      if (inside) needed[set] += part * (level.rest[step.group][set] - after);
    }
    return !prices_.is_too_much(needed, level.left);
  }

  void place_shards(const Step& step) {
    if (step.group == step.choice->shards.size())
      return place_tables(step.remaining & ~(TableSet{1} << step.table));
    spend(step.end - step.first);
    const Rank begin = step.done > 0 ? step.least : step.first;
    for (Rank rank = begin; rank < step.end && !is_over(); rank += step.width) {
      if (may_all_be_on(rank, step) && !has_earlier(rank, step)) place(rank, step);
    }
  }

  // A block lies on one host, in rank order.
  void place(Rank first, const Step& step) {
    Level& level =
        levels_[tables_.size() - static_cast<std::size_t>(std::popcount(step.remaining))];
    const Sums left = level.left;
    for (std::uint32_t i = 0; i < step.width; ++i) {
      const EqualShards& shards = step.choice->shards[step.group + i];
      before_.push_back(ranks_.add(first + i, shards, step.table));
      for (std::size_t set = 0; set < left.size(); ++set)
        level.left[set] -= prices_.cost(set, first + i, shards);
    }
    Step next = step;
    next.least = first;
    if (++next.done == step.choice->shards[step.group].count) {
      next.done = 0;
      next.group += step.width;
    }
    if (can_pay(next, level)) place_shards(next);
    level.left = left;
    for (std::uint32_t i = step.width; i > 0; --i) {
      ranks_.restore(first + i - 1, before_.back());
      before_.pop_back();
    }
  }

  bool may_all_be_on(Rank first, const Step& step) const {
    for (std::uint32_t i = 0; i < step.width; ++i) {
      if (!may_be_on(first + i, step.choice->shards[step.group + i], step)) return false;
    }
    return true;
  }
  bool may_be_on(Rank rank, const EqualShards& shards, const Step& step) const {
    return shards.ranks[rank] != 0 && ranks_.has_room(rank, shards, target_) &&
           ranks_.may_join(rank, step.table);
  }
  bool has_earlier(Rank rank, const Step& step) const {
    if (step.choice->form == Form::kWholeHosts) return has_earlier_host(rank / step.width, step);
    for (Rank other = step.first; other < rank; ++other) {
      if (ranks_.are_alike(other, rank, step.remaining, step.table)) return true;
    }
    return false;
  }
  bool has_earlier_host(std::uint32_t host, const Step& step) const {
    for (std::uint32_t other = 0; other < host; ++other) {
      if (ranks_.are_hosts_alike(other, host, step.remaining, step.table)) return true;
    }
    return false;
  }

  std::vector<ChoicesOfTable> tables_;
  RankContents ranks_;
  double target_;
  ShardPrices prices_;
  std::uint64_t& work_;
  std::vector<Level> levels_;        // by number of tables that are placed
  std::vector<RankContent> before_;  // a stack
  bool found_ = false;
};

// The search recurses once per shard and compares all pairs of ranks.
bool is_small(const SearchSpace& space, const Topology& available) {
  constexpr std::uint32_t kMostRanks = 256;
  constexpr std::uint64_t kMostShards = 4096;
  std::vector<std::uint64_t> most(space.problem().tables().size(), 0);
  for (const ShardingOption& option : space.options()) {
    std::uint64_t& own = most[option.table.index()];
    own = std::max<std::uint64_t>(own, option.num_shards());
  }
  std::uint64_t shards = 0;
  for (const std::uint64_t own : most)
    shards += own;
  return available.world_size() <= kMostRanks && shards <= kMostShards;
}

// Load alone, HBM alone, DDR alone.
void add_plain_prices(std::size_t ranks, std::vector<RankPriceSet>& prices) {
  prices.emplace_back(ranks, CapacityMultipliers{1, 0, 0});
  prices.emplace_back(ranks, CapacityMultipliers{0, 1, 0});
  prices.emplace_back(ranks, CapacityMultipliers{0, 0, 1});
}

}  // namespace

std::optional<std::string> find_plan_below(const SearchSpace& space, const Topology& available,
                                           double target, std::vector<RankPriceSet> prices,
                                           std::uint64_t& work_limit) {
  if (!is_small(space, available)) return "the problem is too large to try all plans";
  add_plain_prices(available.world_size(), prices);
  return AllPlans(space, available, target, std::move(prices), work_limit).run();
}

}  // namespace shardwright::embedding
