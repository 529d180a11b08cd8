#include "search/embedding/questions/old_plan.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/embedding/rank_flows.h"
#include "search/embedding/model/shard_layout.h"
#include "search/embedding/questions/plan_of_entries.h"

namespace shardwright::embedding {
namespace {

const Assignment kNowhere;

// Returns how a table was cut into `shards` shards on the old machine, whose size follows from this
// number. Returns nothing if no machine cuts the table like this.
std::optional<ShardLayout> cut_before(const Problem& problem, const Table& table, ShardingType type,
                                      std::uint32_t shards) {
  const TensorShape shape = tensor_shape(table, problem.spec().sharder.type);
  Table cut = table;
  std::int64_t ranks = shards;
  if (shards == 0) return std::nullopt;
  switch (type) {
    case ShardingType::kColumnWise:
    case ShardingType::kTableColumnWise:
      if (shape.columns % shards != 0) return std::nullopt;
      if (!cut.constraints) cut.constraints.emplace();
      cut.constraints->min_partition = shape.columns / shards;
      break;
    case ShardingType::kGridShard: {
      const ShardLayout columns =
          shard_layout(table, shape, ShardingType::kColumnWise, problem.topology());
      ranks = shards / std::max(columns.num_shards, 1U);
      if (ranks == 0) return std::nullopt;
      break;
    }
    // One shard per table, or one per rank of the old machine.
    case ShardingType::kDataParallel:
    case ShardingType::kTableWise:
    case ShardingType::kRowWise:
    case ShardingType::kTableRowWise:
      break;
  }
  TopologySpec machine;
  machine.world_size = machine.local_world_size = ranks;
  const Result<Topology> topology = Topology::make(std::move(machine));
  if (!topology.ok()) return std::nullopt;
  ShardLayout layout = shard_layout(cut, shape, type, *topology);
  if (layout.num_shards != shards) return std::nullopt;
  return layout;
}

// Returns true if the sharding type allows these ranks. Precondition: ranks exist, one per shard.
bool is_placement(const ShardingOption& option, const std::vector<Rank>& ranks,
                  const Topology& topology) {
  const std::uint32_t local = topology.local_world_size();
  const auto on_one_host = [&] {
    return std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
      return rank / local == ranks[0] / local && rank < topology.num_hosted_ranks();
    });
  };
  const auto on_whole_hosts = [&] {
    if (ranks.size() % local != 0) return false;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != ranks[i - i % local] + i % local) return false;
      if (i % local == 0 && ranks[i] % local != 0) return false;
      if (ranks[i] >= topology.num_hosted_ranks()) return false;
    }
    return true;
  };
  switch (option.partition_by()) {
    case PartitionBy::kDevice:
      return true;
    case PartitionBy::kUniform:
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] != i) return false;
      }
      return ranks.size() == topology.world_size();
    case PartitionBy::kHost:
      return on_one_host() &&
             (option.sharding_type != ShardingType::kTableRowWise || on_whole_hosts());
    case PartitionBy::kMultiHost:
      return on_whole_hosts();
  }
  return false;
}

// Returns true if the table's own placement rules allow these ranks.
bool is_allowed(const PlacementRules& rules, TableId table, const std::vector<Rank>& ranks) {
  if (!rules.constrains(table)) return true;
  if (ranks.size() > rules.max_shards(table)) return false;
  if (rules.distinct_ranks(table) &&
      std::set<Rank>(ranks.begin(), ranks.end()).size() != ranks.size()) {
    return false;
  }
  for (std::uint32_t shard = 0; shard < ranks.size(); ++shard) {
    const RankSet* const allowed = rules.allowed(table, shard);
    if (allowed != nullptr && !allowed->contains(ranks[shard])) return false;
  }
  return true;
}

// The ranks of an entry; empty if the topology lacks one of them.
std::vector<Rank> ranks_that_exist(const PlanEntry& entry, const Topology& topology) {
  std::vector<Rank> ranks;
  for (const std::int64_t rank : entry.ranks) {
    if (rank >= topology.world_size()) return {};
    ranks.push_back(static_cast<Rank>(rank));
  }
  return ranks;
}

std::string full_name(const PlanEntry& entry) {
  return entry.module.empty() ? entry.table : entry.module + "." + entry.table;
}

// Finds tables by the names that entries give.
class TableNames {
 public:
  explicit TableNames(const Problem& problem) : problem_(&problem) {
    for (std::size_t i = 0; i < problem.tables().size(); ++i)
      by_name_[problem.tables()[i].name].emplace_back(i);
  }
  std::optional<TableId> find(const PlanEntry& entry) const {
    const auto named = by_name_.find(entry.table);
    if (named == by_name_.end()) return std::nullopt;
    if (entry.module.empty() && named->second.size() == 1) return named->second.front();
    for (const TableId id : named->second) {
      if (problem_->table(id).module == entry.module) return id;
    }
    return std::nullopt;
  }

 private:
  const Problem* problem_;
  std::unordered_map<std::string, std::vector<TableId>> by_name_;
};

}  // namespace

OldPlan::OldPlan(std::shared_ptr<const SearchSpace> space)
    : space_(std::move(space)), tables_(space_->problem().tables().size()) {}

Result<OldPlan> OldPlan::make(std::shared_ptr<const SearchSpace> space,
                              const std::vector<PlanEntry>& entries) {
  OldPlan old(std::move(space));
  const TableNames names(old.space_->problem());
  OptionFinder finder(old.space_);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::optional<TableId> table = names.find(entries[i]);
    if (!table) {
      old.dropped_.push_back(full_name(entries[i]));
      continue;
    }
    constexpr std::int64_t kMostRanks = std::int64_t{1} << 31;
    for (const std::int64_t rank : entries[i].ranks) {
      if (rank < 0 || rank >= kMostRanks) {
        return invalid_input("/plan/" + std::to_string(i) + "/ranks",
                             "must be ranks, not " + std::to_string(rank));
      }
    }
    if (old.tables_[table->index()]) {
      return invalid_input("/plan/" + std::to_string(i),
                           "table \"" + entries[i].table + "\" is in the plan twice");
    }
    const Result<const ShardingOption*> option = finder.find_option(entries[i]);
    old.match(*table, entries[i], option.ok() ? *option : nullptr);
  }
  old.owner_ = finder.owner();
  old.num_added_options_ = finder.num_added();
  return old;
}

void OldPlan::match(TableId table, const PlanEntry& entry, const ShardingOption* option) {
  OldTable& old = tables_[table.index()].emplace();
  old.place = {entry.sharding_type, entry.compute_kernel, entry.load_factor, entry.ranks};
  const auto shards = static_cast<std::uint32_t>(entry.ranks.size());
  const Problem& problem = space_->problem();
  if (option == nullptr || option->num_shards() != shards) {
    old.layout = entry.is_cut()
                     ? entry.layout
                     : cut_before(problem, problem.table(table), entry.sharding_type, shards);
    return;
  }
  old.layout = *option->layout;
  const std::vector<Rank> ranks = ranks_that_exist(entry, problem.topology());
  if (ranks.empty() || !is_placement(*option, ranks, problem.topology()) ||
      !is_allowed(problem.rules(), table, ranks)) {
    return;
  }
  const bool uniform = option->partition_by() == PartitionBy::kUniform;
  old.assignment = {
      option, uniform ? SharedArray<Rank>() : SharedArray<Rank>(std::span<const Rank>(ranks))};
  const std::span<const ShardingOption> all = space_->options();
  const std::less<const ShardingOption*> before;
  old.in_space = !before(option, all.data()) && before(option, all.data() + all.size());
}

const TablePlace* OldPlan::place(TableId table) const {
  const std::optional<OldTable>& old = tables_[table.index()];
  return old ? &old->place : nullptr;
}

const ShardLayout* OldPlan::layout(TableId table) const {
  const std::optional<OldTable>& old = tables_[table.index()];
  return old && old->layout ? &*old->layout : nullptr;
}

const Assignment& OldPlan::assignment(TableId table) const {
  const std::optional<OldTable>& old = tables_[table.index()];
  return old ? old->assignment : kNowhere;
}

bool OldPlan::in_space(TableId table) const {
  const std::optional<OldTable>& old = tables_[table.index()];
  return old && old->in_space;
}

bool OldPlan::is_kept(const Assignment& to) const {
  const std::optional<OldTable>& old = tables_[to.option->table.index()];
  if (!old) return false;
  const std::vector<std::int64_t>& ranks = old->place.ranks;
  if (to.option->sharding_type != old->place.sharding_type ||
      to.option->compute_kernel != old->place.compute_kernel ||
      to.option->load_factor != old->place.load_factor || to.option->num_shards() != ranks.size()) {
    return false;
  }
  for (std::uint32_t shard = 0; shard < ranks.size(); ++shard) {
    if (ranks[shard] != to.rank(shard)) return false;
  }
  return true;
}

std::int64_t OldPlan::bytes_to_move(const Assignment& to) const {
  const Problem& problem = space_->problem();
  const Table& table = problem.table(to.option->table);
  const std::optional<OldTable>& old = tables_[to.option->table.index()];
  if (old && old->assignment.option == to.option && is_kept(to)) return 0;
  const auto rank_before = [&](std::uint32_t shard) { return old->place.ranks[shard]; };
  const auto rank_after = [&](std::uint32_t shard) { return std::int64_t{to.rank(shard)}; };
  const std::int64_t elements = moved_elements(
      {old && old->layout ? &*old->layout : nullptr, rank_before}, {to.option->layout, rank_after});
  return bytes_of_elements(elements,
                           element_bits(tensor_shape(table, problem.spec().sharder.type)));
}

HeldPlan OldPlan::held(double weight) const {
  HeldPlan held;
  held.weight = weight;
  const Problem& problem = space_->problem();
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    std::optional<HeldTable>& own = held.tables.emplace_back();
    if (!tables_[i]) continue;
    const TensorShape shape = tensor_shape(problem.table(TableId(i)), problem.spec().sharder.type);
    own = HeldTable{tables_[i]->layout, tables_[i]->place.ranks, element_bits(shape)};
  }
  return held;
}

TablePlace place_of(const Assignment& assignment) {
  const ShardingOption& option = *assignment.option;
  TablePlace place{option.sharding_type, option.compute_kernel, option.load_factor, {}};
  for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard)
    place.ranks.push_back(assignment.rank(shard));
  return place;
}

std::vector<PlanEntry> entries_of(const Problem& problem, const Plan& plan) {
  std::vector<PlanEntry> entries;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Table& table = problem.table(plan[i].option->table);
    TablePlace place = place_of(plan[i]);
    PlanEntry& entry = entries.emplace_back();
    entry.table = table.name;
    entry.module = table.module;
    entry.sharding_type = place.sharding_type;
    entry.compute_kernel = place.compute_kernel;
    entry.load_factor = place.load_factor;
    entry.ranks = std::move(place.ranks);
  }
  return entries;
}

}  // namespace shardwright::embedding
