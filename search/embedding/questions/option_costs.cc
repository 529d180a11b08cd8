#include "search/embedding/questions/option_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <deque>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/table.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/model/greedy_placer.h"

namespace shardwright::embedding {
namespace {

template <class Value>
bool leaves_out(const std::vector<Value>& allowed, Value value) {
  return !allowed.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end();
}

bool same_way(const ShardingOption& a, const ShardingOption& b) {
  return a.sharding_type == b.sharding_type && a.compute_kernel == b.compute_kernel &&
         *a.layout == *b.layout;
}

}  // namespace

ExcludedOptions::ExcludedOptions(const SearchSpace& space, Executor& executor)
    : by_table_(space.problem().tables().size()), offered_(by_table_.size()) {
  for (const ShardingOption& option : space.options())
    offered_[option.table.index()].push_back(&option);
  bool lists = false;
  bool partitions = false;
  for (const Table& table : space.problem().tables()) {
    if (!table.constraints) continue;
    lists = lists || !table.constraints->sharding_types.empty() ||
            !table.constraints->compute_kernels.empty();
    partitions = partitions || table.constraints->min_partition.has_value();
  }
  if (lists) add(space, false, executor);
  if (partitions) add(space, true, executor);
}

bool ExcludedOptions::is_known(const SearchSpace& space, const ShardingOption& option) const {
  const Table& table = space.problem().table(option.table);
  if (!table.constraints) return true;
  const auto same = [&](const ShardingOption* other) { return same_way(*other, option); };
  const auto& offered = offered_[option.table.index()];
  const auto& known = by_table_[option.table.index()];
  return std::any_of(offered.begin(), offered.end(), same) ||
         std::any_of(known.begin(), known.end(),
                     [&](const ExcludedOption& excluded) { return same(excluded.option); });
}

// Enumerates without the constraints and adds the options that `space` lacks. Adds nothing if an
// option's costs cannot be represented.
void ExcludedOptions::add(const SearchSpace& space, bool partition_dropped, Executor& executor) {
  ProblemSpec spec = space.problem().spec();
  for (Table& table : spec.tables) {
    if (!table.constraints) continue;
    table.constraints->sharding_types.clear();
    table.constraints->compute_kernels.clear();
    if (partition_dropped) table.constraints->min_partition.reset();
  }
  Result<Problem> problem = Problem::make(std::move(spec));
  if (!problem.ok()) return;
  auto relaxed = enumerate(std::make_shared<const Problem>(std::move(problem).value()), executor);
  if (!relaxed.ok()) return;
  owners_.push_back(*relaxed);
  for (const ShardingOption& option : (*relaxed)->options()) {
    if (is_known(space, option)) continue;
    const Table& table = space.problem().table(option.table);
    const ParameterConstraints& constraints = *table.constraints;
    const std::string place = constraints_place(table.name);
    ExcludedOption excluded{&option, {}};
    if (leaves_out(constraints.sharding_types, option.sharding_type))
      excluded.excluded_by.push_back(place + "/sharding_types");
    if (leaves_out(constraints.compute_kernels, option.compute_kernel))
      excluded.excluded_by.push_back(place + "/compute_kernels");
    if (partition_dropped) excluded.excluded_by.push_back(place + "/min_partition");
    by_table_[option.table.index()].push_back(std::move(excluded));
  }
}

namespace {

using Mask = std::vector<bool>;

// The places of a group rule: single ranks, or hosts.
struct Places {
  std::uint32_t size;  // ranks per place
  std::uint32_t count;

  Places(const Problem& problem, GroupScope on)
      : size(on == GroupScope::kRank ? 1 : problem.topology().local_world_size()),
        count(problem.topology().world_size() / size) {}
};

// Returns the places that other tables of the group use.
Mask places_of_others(const PlacementRules::Group& group, const Places& places, const Plan& plan,
                      std::size_t position) {
  Mask used(places.count);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (i == position ||
        !std::binary_search(group.tables.begin(), group.tables.end(), plan[i].option->table)) {
      continue;
    }
    for (std::uint32_t shard = 0; shard < plan[i].option->num_shards(); ++shard)
      used[plan[i].rank(shard) / places.size] = true;
  }
  return used;
}

// Where the placement rules of groups let a table be beside the other tables of a plan. Refers to
// the problem.
// Thread safety: immutable; const members may be called from any thread.
class SharedPlaces {
 public:
  // For the table at `position` of the plan. O(ranks) per group that names the table.
  SharedPlaces(const Problem& problem, const Plan& plan, std::size_t position);

  // All shards must be within one of these sets. A null set allows every rank. If there is no set,
  // the table has no place.
  const std::vector<const RankSet*>& sets() const { return sets_; }

  // JSON pointers of the placement rules that leave `option` no place: only max_shards if this rule
  // alone does, otherwise all rules that restrict ranks.
  std::vector<std::string> rules_against(const ShardingOption& option) const;

 private:
  const Problem& problem_;
  TableId table_;
  std::deque<RankSet> owned_;
  std::vector<const RankSet*> sets_;
};

SharedPlaces::SharedPlaces(const Problem& problem, const Plan& plan, std::size_t position)
    : problem_(problem), table_(plan[position].option->table) {
  const PlacementRules& rules = problem.rules();
  const std::uint32_t world = problem.topology().world_size();
  if (rules.groups_of(table_).empty()) {
    sets_.push_back(nullptr);
    return;
  }
  Mask open(world, true);
  std::uint32_t one_of = world;  // ranks per place, if all shards must share one place
  for (const std::uint32_t g : rules.groups_of(table_)) {
    const PlacementRules::Group& group = rules.groups()[g];
    const Places places(problem, group.on);
    const Mask used = places_of_others(group, places, plan, position);
    const bool alone = std::find(used.begin(), used.end(), true) == used.end();
    if (group.together) one_of = std::min(one_of, places.size);
    if (alone) continue;
    for (Rank rank = 0; rank < world; ++rank)
      open[rank] = open[rank] && used[rank / places.size] == group.together;
  }
  for (Rank first = 0; first < world; first += one_of) {
    std::vector<Rank> ranks;
    for (Rank rank = first; rank < first + one_of; ++rank) {
      if (open[rank]) ranks.push_back(rank);
    }
    if (!ranks.empty()) sets_.push_back(&owned_.emplace_back(std::move(ranks), world));
  }
}

std::vector<std::string> SharedPlaces::rules_against(const ShardingOption& option) const {
  const Table& table = problem_.table(table_);
  const TablePlacement& own = table.placement;
  const std::string place = constraints_place(table.name);
  if (own.max_shards && option.num_shards() > *own.max_shards) return {place + "/max_shards"};
  std::vector<std::string> rules;
  if (own.ranks) rules.push_back(place + "/ranks");
  if (own.hosts) rules.push_back(place + "/hosts");
  if (!own.shard_ranks.empty()) rules.push_back(place + "/shard_ranks");
  if (own.distinct_ranks && option.num_shards() > 1) rules.push_back(place + "/distinct_ranks");
  for (const std::uint32_t g : problem_.rules().groups_of(table_))
    rules.push_back(problem_.rules().groups()[g].place);
  return rules;
}

using Standing = OptionCost::Standing;

// Ratings count as equal if their relative difference is less. Another order of summation changes
// less.
constexpr double kEqual = 1e-9;

std::vector<Rank> ranks_of(const Assignment& assignment) {
  std::vector<Rank> ranks(assignment.option->num_shards());
  for (std::uint32_t shard = 0; shard < ranks.size(); ++shard)
    ranks[shard] = assignment.rank(shard);
  return ranks;
}

std::array<double, 5> parts_of(const Perf& perf) {
  return {perf.fwd_compute.value(), perf.fwd_comms.value(), perf.bwd_compute.value(),
          perf.bwd_comms.value(), perf.prefetch_compute.value()};
}

// Tries the options of one table, one after the other, while no other table changes.
// Thread safety: one thread at a time.
class TableExchange {
 public:
  TableExchange(const Problem& problem, const Topology& available, const Evaluation& evaluation,
                const PlanLoads& loads, const Assignment& chosen, const SharedPlaces& places)
      : problem_(problem),
        available_(available),
        evaluation_(evaluation),
        chosen_(chosen),
        chosen_ranks_(ranks_of(chosen)),
        places_(places),
        others_(loads) {
    others_.remove(chosen);
    for (Rank rank = 0; rank < available.world_size(); ++rank) {
      if (rank == 0 || others_.rating(rank) > others_.rating(busiest_other_)) busiest_other_ = rank;
    }
  }

  OptionCost chosen() {
    OptionCost cost = describe(*chosen_.option);
    cost.standing = Standing::kChosen;
    cost.ranks = chosen_ranks_;
    others_.add(chosen_);
    rate(cost);
    others_.remove(chosen_);
    return cost;
  }

  OptionCost exchange(const ShardingOption& option) {
    OptionCost cost = describe(option);
    if (place(option, true, cost)) {
      if (cost.lack) {
        cost.standing = Standing::kTooLarge;
        place(option, false, cost);
      }
      return cost;
    }
    cost.standing = Standing::kNoPlace;
    cost.excluded_by = places_.rules_against(option);
    return cost;
  }

 private:
  static OptionCost describe(const ShardingOption& option) {
    OptionCost cost;
    cost.option = &option;
    cost.time_ms = option.total_perf().value();
    cost.storage = option.total_storage();
    return cost;
  }

  // Places the option in the best of places_.sets(). Returns false if there is no place.
  bool place(const ShardingOption& option, bool memory, OptionCost& cost) {
    std::optional<Badness> least;
    for (const RankSet* const set : places_.sets()) {
      GreedyPlacer placer(problem_, available_, option, others_, PlacementView{memory, set});
      std::vector<Rank> ranks = placer.place();
      if (ranks.size() != option.num_shards() || ranks.empty()) continue;
      Badness now = placer.badness(ranks);
      std::get<1>(now) = std::max(std::get<1>(now), others_.rating(busiest_other_));
      if (!least || now < *least) {
        least = now;
        cost.ranks = ranks;
        if (memory) cost.lack = lack_of(ranks);
        rate(cost);
      }
      placer.take_back(ranks);
    }
    return least.has_value();
  }

  // Returns the lack of the rank that lacks the most bytes.
  std::optional<MemoryLack> lack_of(const std::vector<Rank>& ranks) const {
    std::optional<MemoryLack> worst;
    for (const Rank rank : ranks) {
      if (others_.excess_bytes(rank) == 0) continue;
      const RankState& at = others_.rank(rank);
      const MemoryTier tier = scarcest_tier(at.held(), at.capacity);
      const MemoryLack lack{rank, tier, (Storage() - at.left)[tier].value()};
      if (!worst || lack.bytes > worst->bytes) worst = lack;
    }
    return worst;
  }

  // Sets the rating of the option. Precondition: others_ holds the option's shards.
  void rate(OptionCost& cost) const {
    cost.busiest_rank = busiest_other_;
    double rating = others_.rating(busiest_other_);
    for (const Rank rank : cost.ranks) {
      if (others_.rating(rank) <= rating) continue;
      rating = others_.rating(rank);
      cost.busiest_rank = rank;
    }
    cost.rating_change = rating - evaluation_.rating;
    if (std::abs(cost.rating_change) <= kEqual * std::max(rating, evaluation_.rating)) {
      rating = evaluation_.rating;
      cost.rating_change = 0;
    }
    cost.rating = rating;
    cost.part.reset();
    cost.part_change_ms = 0;
    if (problem_.spec().perf_model == PerfModel::kPerf) find_part(cost);
  }

  // Finds the part of the busiest rank's time that changes most, in the direction of the rating's
  // change.
  void find_part(OptionCost& cost) const {
    if (cost.rating_change == 0) return;
    std::array<double, 5> change{};
    add_parts(*cost.option, cost.ranks, cost.busiest_rank, 1, change);
    add_parts(*chosen_.option, chosen_ranks_, cost.busiest_rank, -1, change);
    const double sign = cost.rating_change < 0 ? -1 : 1;
    for (std::size_t i = 0; i < change.size(); ++i) {
      if (sign * change[i] <= sign * cost.part_change_ms) continue;
      cost.part = static_cast<PerfPart>(i);
      cost.part_change_ms = change[i];
    }
  }

  void add_parts(const ShardingOption& option, const std::vector<Rank>& ranks, Rank rank,
                 double sign, std::array<double, 5>& sum) const {
    const std::vector<double>& factors = problem_.spec().calibration.rank_time;
    const double scale = sign * (factors.empty() ? 1 : factors[rank]);
    std::size_t shard = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const std::array<double, 5> parts = parts_of(option.costs[run].perf);
      for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k) {
        if (ranks[shard++] != rank) continue;
        for (std::size_t i = 0; i < parts.size(); ++i)
          sum[i] += scale * parts[i];
      }
    }
  }

  const Problem& problem_;
  const Topology& available_;
  const Evaluation& evaluation_;
  const Assignment& chosen_;
  std::vector<Rank> chosen_ranks_;
  const SharedPlaces& places_;
  PlanLoads others_;
  Rank busiest_other_ = 0;
};

bool comes_before(const OptionCost& a, const OptionCost& b) {
  if (a.standing != b.standing) return a.standing < b.standing;
  return std::pair(a.rating, a.time_ms) < std::pair(b.rating, b.time_ms);
}

}  // namespace

OptionCosts::OptionCosts(const SearchSpace& space, const Topology& available, const Plan& plan,
                         const Evaluation& evaluation, const ExcludedOptions& excluded)
    : space_(space),
      available_(available),
      plan_(plan),
      evaluation_(evaluation),
      excluded_(excluded),
      loads_(space.problem(), available),
      options_(space.problem().tables().size()) {
  for (const ShardingOption& option : space.options())
    options_[option.table.index()].push_back(&option);
  for (std::size_t i = 0; i < plan.size(); ++i)
    loads_.add(plan[i]);
}

std::vector<OptionCost> OptionCosts::of_table(std::size_t position, const Budget& budget) const {
  if (budget.interrupted()) return {};
  const Assignment& chosen = plan_[position];
  const TableId table = chosen.option->table;
  const SharedPlaces places(space_.problem(), plan_, position);
  TableExchange exchange(space_.problem(), available_, evaluation_, loads_, chosen, places);
  std::vector<OptionCost> costs{exchange.chosen()};
  for (const ShardingOption* const option : options_[table.index()]) {
    if (*option == *chosen.option) continue;
    if (budget.interrupted()) return {};
    costs.push_back(exchange.exchange(*option));
  }
  for (const ExcludedOption& excluded : excluded_.of(table)) {
    if (budget.interrupted()) return {};
    OptionCost cost = exchange.exchange(*excluded.option);
    cost.standing = Standing::kExcluded;
    cost.excluded_by.insert(cost.excluded_by.begin(), excluded.excluded_by.begin(),
                            excluded.excluded_by.end());
    costs.push_back(std::move(cost));
  }
  std::stable_sort(costs.begin(), costs.end(), comes_before);
  return costs;
}

}  // namespace shardwright::embedding
