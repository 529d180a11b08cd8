#include "core/embedding/bound/table_choices.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "core/embedding/bound/bound_options.h"
#include "core/embedding/evaluate.h"

namespace shardwright::embedding {
namespace {

Form form_of(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology)) return Form::kInOrder;
  if (fills_hosts(option, topology)) return Form::kWholeHosts;
  return is_free(option, topology) ? Form::kFree : Form::kOneHost;
}

bool has_valid_costs(const ShardingOption& option) {
  return std::all_of(option.costs.begin(), option.costs.end(), [](const ShardCost& cost) {
    const Perf& perf = cost.perf;
    for (const Milliseconds part : {perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                    perf.bwd_comms, perf.prefetch_compute, perf.total()}) {
      if (!std::isfinite(part.value()) || part.value() < 0) return false;
    }
    return !cost.storage.is_negative();
  });
}

// Thread safety: one thread at a time. Refers to its arguments.
class ChoiceMaker {
 public:
  ChoiceMaker(const SearchSpace& space, const Topology& available, const PlanGoal& goal)
      : space_(space),
        problem_(space.problem()),
        available_(available),
        below_(goal.below),
        within_(goal.within),
        charges_(goal.held) {}

  // Returns false if no plan with the option can meet the goal.
  bool counts(OptionId id) const {
    const ShardingOption& option = space_.option(id);
    if (within_ != nullptr && within_->classes[id.index()] == 0) return false;
    if (!may_have_place(problem_.rules(), available_, option)) return false;
    if (below_) return true;
    const bool wider = problem_.spec().sharder.type == SharderSpec::Type::kQuant;
    return option.costs.size() == option.layout->extents.size() && has_valid_costs(option) &&
           shards_tile_table(option, problem_.table(option.table), wider);
  }

  // Returns false if some shard has no allowed rank.
  bool make(OptionId id, TableChoice& choice) const {
    const ShardingOption& option = space_.option(id);
    choice.option = id;
    choice.form = form_of(option, available_);
    const bool single = choice.form == Form::kWholeHosts || choice.form == Form::kInOrder;
    std::vector<TensorPart> parts;
    if (charges_.has(option.table)) parts = parts_of(*option.layout);
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const ShardCost& cost = option.costs[run];
      const double own = load(cost);
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k, ++shard) {
        EqualShards shards{
            1, own, as_doubles(counted(cost.storage)), ranks_of(id, choice.form, cost, shard), {}};
        if (shards.ranks.empty()) return false;
        for (std::size_t i = 0; i < shards.ranks.size() && !parts.empty(); ++i)
          shards.charges.push_back(charges_.charge(option.table, parts[shard], shards.ranks[i]));
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

  // Returns the choices of a table: the options whose shards all have an allowed rank.
  ChoicesOfTable make_all(TableId table, const std::vector<OptionId>& options) const {
    ChoicesOfTable table_choices;
    table_choices.table = table;
    table_choices.distinct_ranks = problem_.rules().distinct_ranks(table);
    table_choices.ranks_in_reach = reach_of(table, problem_.rules(), available_);
    for (const OptionId id : options) {
      TableChoice choice;
      if (make(id, choice) && fits_in(choice, table_choices.ranks_in_reach, available_))
        table_choices.choices.push_back(std::move(choice));
    }
    return table_choices;
  }

  // Returns true if another option replaces `id`. Of two that replace each other, the first stays.
  bool is_redundant(const std::vector<OptionId>& all, OptionId id) const {
    return std::any_of(all.begin(), all.end(), [&](OptionId other) {
      if (other == id || !replaces(other, id)) return false;
      return other < id || !replaces(id, other);
    });
  }

  // Ignores tiers in which every rank can hold the largest choices of all tables together.
  void forget_ample_memory(const std::vector<ChoicesOfTable>& tables) {
    const auto& room = available_.storage();
    for (const MemoryTier tier : kMemoryTiers) {
      double most = 0;
      for (const ChoicesOfTable& own : tables)
        most += most_bytes(own, tier);
      ample_[tier] = std::all_of(room.begin(), room.end(), [&](const Storage& storage) {
        return most <= static_cast<double>(storage[tier].value());
      });
    }
  }

 private:
  static double most_bytes(const ChoicesOfTable& table, MemoryTier tier) {
    double most = 0;
    for (const TableChoice& choice : table.choices) {
      double own = 0;
      for (const EqualShards& shards : choice.shards)
        own += shards.count * std::max(shards.bytes[tier], 0.0);
      most = std::max(most, own);
    }
    return most;
  }
  Storage counted(Storage bytes) const {
    for (const MemoryTier tier : kMemoryTiers) {
      if (ample_[tier]) bytes[tier] = Bytes(0);
    }
    return bytes;
  }
  // Merges blocks that equal the block before, by adding to its count.
  void join_equal_blocks(std::vector<EqualShards>& shards) const {
    const auto size = static_cast<std::ptrdiff_t>(available_.local_world_size());
    auto end = shards.begin() + size;  // end of the blocks that stay
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
  double load(const ShardCost& cost) const {
    return below_ ? load_of(cost, problem_.spec().perf_model) : 0;
  }
  static bool are_equal(const EqualShards& a, const EqualShards& b) {
    return a.load == b.load && a.bytes == b.bytes && a.ranks == b.ranks && a.charges == b.charges;
  }

  bool is_within(OptionId id, Rank rank) const {
    return within_ == nullptr ||
           (within_->classes[id.index()] >> within_->class_of_rank[rank] & 1) != 0;
  }

  std::vector<Rank> ranks_of(OptionId id, Form form, const ShardCost& cost,
                             std::uint32_t shard) const {
    const RankSet* const allowed = problem_.rules().allowed(space_.option(id).table, shard);
    const std::uint32_t local = available_.local_world_size();
    const double limit = below_.value_or(std::numeric_limits<double>::infinity());
    const Rank first = form == Form::kInOrder      ? shard
                       : form == Form::kWholeHosts ? shard % local
                                                   : 0;
    const std::uint32_t step = form == Form::kInOrder      ? available_.world_size()
                               : form == Form::kWholeHosts ? local
                                                           : 1;
    const bool on_hosts = form == Form::kWholeHosts || form == Form::kOneHost;
    const Rank end = on_hosts ? available_.num_hosted_ranks() : available_.world_size();
    std::vector<Rank> ranks;
    for (Rank rank = first; rank < end; rank += step) {
      if (allowed != nullptr && !allowed->contains(rank)) continue;
      if (!is_within(id, rank)) continue;
      // A rank without bytes fits even if the reservation exceeds its memory.
      const bool fits =
          cost.storage == Storage() || cost.storage.fits_in(available_.storage()[rank]);
      if (fits && load(cost) * time_scale_of(problem_.spec(), rank) < limit) ranks.push_back(rank);
    }
    return ranks;
  }

  // Returns true if `a` can replace `b` in every plan and costs no more, shard by shard.
  bool replaces(OptionId a, OptionId b) const {
    const ShardingOption& own = space_.option(a);
    const ShardingOption& other = space_.option(b);
    if (own.num_shards() != other.num_shards()) return false;
    if (within_ != nullptr && (within_->classes[b.index()] & ~within_->classes[a.index()]) != 0)
      return false;
    if (charges_.has(own.table) && !(*own.layout == *other.layout)) return false;
    const Form form = form_of(own, available_);
    const Form other_form = form_of(other, available_);
    if (!is_free(own, available_) && form != other_form) return false;
    std::size_t i = 0;
    std::size_t j = 0;
    std::uint32_t end_i = 0;
    std::uint32_t end_j = 0;
    for (std::uint32_t shard = 0; shard < own.num_shards();) {
      while (end_i <= shard)
        end_i += own.layout->extents[i++].count;
      while (end_j <= shard)
        end_j += other.layout->extents[j++].count;
      const ShardCost& cost = own.costs[i - 1];
      const ShardCost& more = other.costs[j - 1];
      if (load(cost) > load(more) || !counted(cost.storage).fits_in(counted(more.storage)))
        return false;
      shard = std::min(end_i, end_j);
    }
    return true;
  }

  const SearchSpace& space_;
  const Problem& problem_;
  const Topology& available_;
  std::optional<double> below_;
  const PlaceDomain* within_;
  MoveCharges charges_;
  PerTier<bool> ample_;
};

// Returns the options that a plan can use, by table. If not `all_tables`, tables without options in
// the space are absent.
std::vector<std::optional<std::vector<OptionId>>> options_by_table(const SearchSpace& space,
                                                                   const ChoiceMaker& maker,
                                                                   bool all_tables) {
  std::vector<std::optional<std::vector<OptionId>>> options(space.problem().tables().size());
  for (std::size_t t = 0; t < options.size() && all_tables; ++t)
    options[t].emplace();
  for (std::size_t i = 0; i < space.size(); ++i) {
    const ShardingOption& option = space.option(OptionId(i));
    std::optional<std::vector<OptionId>>& own = options[option.table.index()];
    if (!own) own.emplace();
    if (maker.counts(OptionId(i))) own->push_back(OptionId(i));
  }
  return options;
}

ChoicesOfTable choices_of(const ChoiceMaker& maker, std::size_t table,
                          const std::vector<OptionId>& options) {
  std::vector<OptionId> kept;
  std::copy_if(options.begin(), options.end(), std::back_inserter(kept),
               [&](OptionId id) { return !maker.is_redundant(options, id); });
  return maker.make_all(TableId(table), kept);
}

// Drops options that fit on no rank, so that they do not dominate other options or count in sums of
// memory.
void keep_placeable(ChoiceMaker& maker,
                    std::vector<std::optional<std::vector<OptionId>>>& options) {
  std::vector<ChoicesOfTable> tables;
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (!options[t]) continue;
    tables.push_back(maker.make_all(TableId(t), *options[t]));
    options[t]->clear();
    for (const TableChoice& choice : tables.back().choices)
      options[t]->push_back(choice.option);
  }
  maker.forget_ample_memory(tables);
}

}  // namespace

void for_each_table(const SearchSpace& space, const Topology& available, const PlanGoal& goal,
                    const std::function<bool(ChoicesOfTable)>& take) {
  const ChoiceMaker maker(space, available, goal);
  const auto options = options_by_table(space, maker, !goal.below);
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (options[t] && !take(choices_of(maker, t, *options[t]))) return;
  }
}

std::vector<ChoicesOfTable> all_choices(const SearchSpace& space, const Topology& available,
                                        const PlanGoal& goal) {
  constexpr std::uint32_t kFewRanks = 64;  // above, testing for ample memory does not pay
  ChoiceMaker maker(space, available, goal);
  auto options = options_by_table(space, maker, !goal.below);
  if (available.world_size() <= kFewRanks) keep_placeable(maker, options);
  std::vector<ChoicesOfTable> tables;
  for (std::size_t t = 0; t < options.size(); ++t) {
    if (options[t]) tables.push_back(choices_of(maker, t, *options[t]));
  }
  return tables;
}

std::pair<std::size_t, std::size_t> EqualShards::places(Rank first, Rank end) const {
  const auto begin = std::lower_bound(ranks.begin(), ranks.end(), first);
  return {static_cast<std::size_t>(begin - ranks.begin()),
          static_cast<std::size_t>(std::lower_bound(begin, ranks.end(), end) - ranks.begin())};
}

std::size_t EqualShards::place_on(Rank rank) const {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return at != ranks.end() && *at == rank ? static_cast<std::size_t>(at - ranks.begin())
                                          : ranks.size();
}

double time_scale_of(const ProblemSpec& spec, std::size_t rank) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  return scale.empty() || spec.perf_model == PerfModel::kStorage ? 1 : scale[rank];
}

std::uint32_t reach_of(TableId table, const PlacementRules& rules, const Topology& available) {
  std::uint32_t ranks = available.world_size();
  for (const std::uint32_t i : rules.groups_of(table)) {
    const PlacementRules::Group& group = rules.groups()[i];
    if (!group.together) continue;
    ranks = std::min(ranks, group.on == GroupScope::kRank ? 1 : available.local_world_size());
  }
  return ranks;
}

bool fits_in(const TableChoice& choice, std::uint32_t ranks, const Topology& available) {
  if (choice.form == Form::kInOrder) return ranks == available.world_size();
  return choice.width(available.local_world_size()) <= ranks;
}

}  // namespace shardwright::embedding
