#include "core/embedding/bound/search/table_choices.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/embedding/bound/options/bound_options.h"

namespace shardwright::embedding {
namespace {

Form form_of(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology)) return Form::kInOrder;
  if (fills_hosts(option, topology)) return Form::kWholeHosts;
  return is_free(option, topology) ? Form::kFree : Form::kOneHost;
}

class ChoiceMaker {
 public:
  ChoiceMaker(const SearchSpace& space, const Topology& available, double target)
      : problem_(space.problem()), available_(available), target_(target) {}

  // Returns false if a shard has no rank.
  bool make(const ShardingOption& option, TableChoice& choice) const {
    choice.form = form_of(option, available_);
    const bool single = choice.form == Form::kWholeHosts || choice.form == Form::kInOrder;
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k) {
        const ShardCost& cost = option.costs[run];
        EqualShards shards{1, load_of(cost, problem_.spec().perf_model),
                           static_cast<double>(cost.storage.hbm.value()),
                           static_cast<double>(cost.storage.ddr.value()),
                           ranks_of(option, choice.form, cost, shard++)};
        if (std::find(shards.ranks.begin(), shards.ranks.end(), 1) == shards.ranks.end())
          return false;
        if (!single && !choice.shards.empty() && are_equal(choice.shards.back(), shards)) {
          ++choice.shards.back().count;
        } else {
          choice.shards.push_back(std::move(shards));
        }
      }
    }
    if (choice.form == Form::kWholeHosts) join_equal_blocks(choice.shards);
    return true;
  }

 private:
  // Counts a block that is like the one before there.
  void join_equal_blocks(std::vector<EqualShards>& shards) const {
    const auto size = static_cast<std::ptrdiff_t>(available_.local_world_size());
    auto end = shards.begin() + size;  // of the blocks that stay
    for (auto block = end; block != shards.end(); block += size) {
      if (std::equal(block, block + size, end - size, are_equal)) {
        std::for_each(end - size, end, [](EqualShards& own) { ++own.count; });
        continue;
      }
      if (end != block) std::move(block, block + size, end);
      end += size;
    }
    shards.erase(end, shards.end());
  }
  static bool are_equal(const EqualShards& a, const EqualShards& b) {
    return a.load == b.load && a.hbm == b.hbm && a.ddr == b.ddr && a.ranks == b.ranks;
  }
  std::vector<std::uint8_t> ranks_of(const ShardingOption& option, Form form, const ShardCost& cost,
                                     std::uint32_t shard) const {
    const RankSet* const allowed = problem_.rules().allowed(option.table, shard);
    const std::uint32_t local = available_.local_world_size();
    const double load = load_of(cost, problem_.spec().perf_model);
    std::vector<std::uint8_t> ranks(available_.world_size(), 0);
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      if (form == Form::kInOrder && rank != shard) continue;
      if (form == Form::kWholeHosts && rank % local != shard % local) continue;
      if (allowed != nullptr && !allowed->contains(rank)) continue;
      // A rank without bytes fits even if the reservation left it less than nothing.
      const bool fits =
          cost.storage == Storage() || cost.storage.fits_in(available_.storage()[rank]);
      if (fits && load * time_scale_of(problem_.spec(), rank) < target_) ranks[rank] = 1;
    }
    return ranks;
  }

  const Problem& problem_;
  const Topology& available_;
  double target_;
};

// Returns true if `a` costs no more than `b`, shard by shard.
bool costs_no_more(const ShardingOption& a, const ShardingOption& b, PerfModel model) {
  for (std::uint32_t shard = 0; shard < a.num_shards(); ++shard) {
    const ShardCost& own = a.shard_cost(shard);
    const ShardCost& other = b.shard_cost(shard);
    if (load_of(own, model) > load_of(other, model) || !own.storage.fits_in(other.storage))
      return false;
  }
  return true;
}

// Of options that replace each other, the first one stays.
bool is_redundant(const SearchSpace& space, const Topology& available,
                  const std::vector<OptionId>& all, OptionId id) {
  const PerfModel model = space.problem().spec().perf_model;
  const ShardingOption& option = space.option(id);
  return std::any_of(all.begin(), all.end(), [&](OptionId other) {
    const ShardingOption& own = space.option(other);
    if (other == id || own.num_shards() != option.num_shards() || !is_free(own, available) ||
        !costs_no_more(own, option, model))
      return false;
    return other < id || !is_free(option, available) || !costs_no_more(option, own, model);
  });
}

}  // namespace

double time_scale_of(const ProblemSpec& spec, std::size_t rank) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  return scale.empty() || spec.perf_model == PerfModel::kStorage ? 1 : scale[rank];
}

std::vector<ChoicesOfTable> all_choices(const SearchSpace& space, const Topology& available,
                                        double target) {
  constexpr std::size_t kMostTables = 63;
  const PlacementRules& rules = space.problem().rules();
  std::vector<std::vector<OptionId>> options(space.problem().tables().size());
  std::vector<bool> has_options(options.size(), false);
  for (std::size_t i = 0; i < space.size(); ++i) {
    const ShardingOption& option = space.option(OptionId(i));
    has_options[option.table.index()] = true;
    if (may_have_place(rules, available, option))
      options[option.table.index()].push_back(OptionId(i));
  }
  const ChoiceMaker maker(space, available, target);
  std::vector<ChoicesOfTable> tables;
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (!has_options[t]) continue;
    ChoicesOfTable& own = tables.emplace_back();
    own.table = TableId(t);
    own.distinct_ranks = rules.distinct_ranks(own.table);
    for (const OptionId id : options[t]) {
      TableChoice choice;
      choice.option = id;
      if (is_redundant(space, available, options[t], id)) continue;
      if (maker.make(space.option(id), choice)) own.choices.push_back(std::move(choice));
    }
  }
  if (tables.size() > kMostTables) tables.clear();
  return tables;
}

}  // namespace shardwright::embedding
