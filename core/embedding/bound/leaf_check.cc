#include "core/embedding/bound/leaf_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/open_options.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/bound/rank_pricing.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

std::optional<std::string> check_lagrangian_leaf(const OpenOptions& options,
                                                 const BoundNode& leaf) {
  if (LagrangianSum(options, leaf.multipliers).excludes_all()) return std::nullopt;
  return "the multipliers of a leaf do not exclude a plan below the bound";
}

namespace {

// Checks one pattern leaf.
// Thread safety: one thread at a time.
class PatternLeaf {
 public:
  PatternLeaf(const OpenOptions& options, const BoundNode& leaf)
      : options_(options), classes_(options.classes()), leaf_(leaf) {}

  std::optional<std::string> check(StepLimit& limit) {
    if (leaf_.max_pattern_values.size() != classes_.size()) {
      return "a leaf lacks the maximum value of a pattern for a rank class";
    }
    for (const ShardDual& shard : leaf_.shard_duals) {
      if (!(shard.value >= 0) || !std::isfinite(shard.value)) {
        return "the dual value of a shard is negative or not finite";
      }
      duals_[{shard.option, shard.run}] = shard.value;
    }
    if (!(value_of_tables() > value_of_ranks())) {
      return "the dual values of a leaf do not exclude a plan below the bound";
    }
    for (std::uint32_t c = 0; c < classes_.size(); ++c) {
      if (auto wrong = check_class(c, limit)) return wrong;
    }
    return std::nullopt;
  }

 private:
  double dual(OptionId option, std::uint32_t run) const {
    const auto found = duals_.find({option, run});
    return found == duals_.end() ? 0.0 : found->second;
  }

  // Returns the most that the patterns of all ranks can be worth, rounded up.
  double value_of_ranks() const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      sum = add_up(sum, multiply_up(classes_.num_ranks(c), leaf_.max_pattern_values[c]));
    for (std::size_t c = 0; c < leaf_.whole_multipliers.size(); ++c)
      sum = add_up(sum, multiply_up(classes_.num_ranks(c), whole_rank(c).cost()));
    return sum;
  }

  RankCapacity whole_rank(std::size_t rank_class) const {
    return {classes_.whole_limit(rank_class), classes_.whole_room(rank_class),
            leaf_.whole_multipliers[rank_class]};
  }

  // Returns the sum over tables of the least value of an open option, rounded down.
  double value_of_tables() const {
    double sum = 0;
    for (std::size_t table = 0; table < options_.num_tables(); ++table) {
      const std::vector<OpenOption>& open = options_.of_table(table);
      double least = open.empty() ? 0 : std::numeric_limits<double>::infinity();
      for (const OpenOption& domain : open)
        least = std::min(least, value_of_option(domain.option));
      sum = add_down(sum, least);
    }
    return sum;
  }

  // Returns the sum of the dual values of all shards of the option, rounded down.
  double value_of_option(OptionId id) const {
    const ShardingOption& option = options_.space().option(id);
    double sum = 0;
    if (is_on_all_ranks(option, options_.topology())) {
      for (std::uint32_t c = 0; c < classes_.size(); ++c) {
        if ((classes_.of_uniform() >> c & 1) != 0)
          sum = add_down(sum, multiply_down(classes_.num_ranks(c), dual(id, c)));
      }
      return sum;
    }
    if (fills_hosts(option, options_.topology())) {
      return multiply_down(option.num_shards(), dual(id, 0));
    }
    for (std::uint32_t run = 0; run < option.costs.size(); ++run)
      sum = add_down(sum, multiply_down(option.layout->extents[run].count, dual(id, run)));
    return sum;
  }

  // Checks that no pattern on a rank of the class is worth more than the leaf claims.
  std::optional<std::string> check_class(std::uint32_t rank_class, StepLimit& limit) const {
    RankPricing pricing(classes_.load_limit(rank_class), classes_.room(rank_class),
                        leaf_.multipliers[rank_class]);
    for (std::size_t table = 0; table < options_.num_tables(); ++table) {
      pricing.begin_table();
      for (const OpenOption& domain : options_.of_table(table)) {
        if ((domain.classes >> rank_class & 1) == 0) continue;
        if (!add_shards(pricing, domain.option, rank_class)) {
          return "a rank can hold shards of one option in too many combinations";
        }
      }
    }
    switch (pricing.check(leaf_.max_pattern_values[rank_class], limit)) {
      case RankPricing::Answer::kHolds:
        return std::nullopt;
      case RankPricing::Answer::kExceeded:
        return "a rank can hold a pattern of more value than a leaf claims";
      case RankPricing::Answer::kGivenUp:
        break;
    }
    return std::string(kProofTooLong);
  }

  ShardSet use_of(const ShardCost& cost) const {
    return {0, load_of(cost, classes_.perf_model()), cost.storage};
  }

  // Returns the shard with its value in a pattern on a rank of the class, rounded up.
  ShardSet worth(double value, ShardSet use, std::uint32_t rank_class) const {
    use.value = value;
    if (!leaf_.whole_multipliers.empty())
      use.value = whole_rank(classes_.whole_class(rank_class)).reduced_value(use);
    use.value = std::max(0.0, use.value);
    return use;
  }

  // Adds the shards of the option that one rank can hold. Returns false if there are too many
  // combinations.
  bool add_shards(RankPricing& pricing, OptionId id, std::uint32_t rank_class) const {
    const ShardingOption& option = options_.space().option(id);
    if (is_on_all_ranks(option, options_.topology())) {
      return add_smallest_of_class(pricing, id, rank_class);
    }
    std::vector<ShardSet> runs;
    std::vector<std::uint32_t> counts;
    for (std::uint32_t run = 0; run < option.costs.size(); ++run) {
      if (option.layout->extents[run].count == 0) continue;
      runs.push_back(worth(dual(id, run), use_of(option.costs[run]), rank_class));
      counts.push_back(option.layout->extents[run].count);
    }
    if (!fills_hosts(option, options_.topology())) return pricing.add(runs, counts);
    ShardSet least = runs.front();
    for (const ShardSet& run : runs)
      least = componentwise_min(least, run);
    return pricing.add({worth(dual(id, 0), least, rank_class)},
                       {option.num_shards() / options_.topology().local_world_size()});
  }

  // Adds the componentwise smallest shard of an option with one shard per rank, since ranks of a
  // class may hold different runs. Returns false if the class holds no shard of the option.
  bool add_smallest_of_class(RankPricing& pricing, OptionId id, std::uint32_t rank_class) const {
    const ShardingOption& option = options_.space().option(id);
    std::optional<ShardSet> least;
    for (const ClassShards& shards : options_.shards_by_class(id)) {
      if (shards.rank_class != rank_class) continue;
      const ShardSet one = use_of(option.costs[shards.run]);
      least = least ? componentwise_min(*least, one) : one;
    }
    return least && pricing.add({worth(dual(id, rank_class), *least, rank_class)}, {1});
  }

  const OpenOptions& options_;
  const CertifiedClasses& classes_;
  const BoundNode& leaf_;
  std::map<std::pair<OptionId, std::uint32_t>, double> duals_;
};

}  // namespace

std::optional<std::string> check_pattern_leaf(const OpenOptions& options, const BoundNode& leaf,
                                              StepLimit& limit) {
  return PatternLeaf(options, leaf).check(limit);
}

namespace {

PlaceDomain domain_of(const OpenOptions& options) {
  PlaceDomain domain;
  domain.classes.resize(options.space().size());
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    for (const OpenOption& open : options.of_table(table))
      domain.classes[open.option.index()] = open.classes;
  }
  for (Rank rank = 0; rank < options.topology().world_size(); ++rank)
    domain.class_of_rank.push_back(options.classes().class_of(rank));
  return domain;
}

}  // namespace

std::optional<std::string> check_search_leaf(const OpenOptions& options, const BoundNode& leaf,
                                             double target, std::uint64_t& most_steps,
                                             const std::function<bool()>& is_stopped) {
  if (options.space().problem().rules().any())
    return "a leaf is proved by search although there are placement rules";
  if (options.classes().uniform_apart())
    return "a leaf is proved by search although uniform options are apart";
  const PlaceDomain domain = domain_of(options);
  RankPriceSet prices = prices_by_rank(leaf.multipliers, domain.class_of_rank);
  const FoundPlan found =
      find_plan_below({target, nullptr, &domain}, options.space(), options.topology(),
                      {std::move(prices)}, most_steps, is_stopped);
  most_steps -= std::min(most_steps, found.steps);
  switch (found.answer) {
    case FoundPlan::Answer::kNoneExists:
      return std::nullopt;
    case FoundPlan::Answer::kFound:
      return "there is a plan below the bound in a leaf";
    case FoundPlan::Answer::kTooLarge:
      return "a leaf is too large to try all its plans";
    case FoundPlan::Answer::kGivenUp:
      break;
  }
  return std::string(kProofTooLong);
}

}  // namespace shardwright::embedding
