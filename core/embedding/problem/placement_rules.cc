#include "core/embedding/problem/placement_rules.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "core/embedding/problem/table.h"
#include "core/numeric/assignment.h"

namespace shardwright::embedding {
namespace {

constexpr std::int64_t kMaxShard = std::int64_t{1} << 20;

// Sorts `numbers` and removes duplicates. Errors: `numbers` is empty or not within [0, bound).
Result<std::vector<Rank>> checked_numbers(const std::vector<std::int64_t>& numbers,
                                          std::uint32_t bound, const std::string& what,
                                          const std::string& where) {
  if (numbers.empty()) return invalid_input(where, "must name at least one " + what);
  std::vector<Rank> checked;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0 || numbers[i] >= bound) {
      return invalid_input(where + "/" + std::to_string(i),
                           "there is no " + what + " " + std::to_string(numbers[i]) + "; the " +
                               what + "s are 0 to " + std::to_string(bound - 1));
    }
    checked.push_back(static_cast<Rank>(numbers[i]));
  }
  std::sort(checked.begin(), checked.end());
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

std::vector<Rank> ranks_of_hosts(const std::vector<Rank>& hosts, std::uint32_t local) {
  std::vector<Rank> ranks;
  for (const Rank host : hosts) {
    for (Rank rank = host * local; rank < (host + 1) * local; ++rank)
      ranks.push_back(rank);
  }
  return ranks;
}

std::vector<Rank> common(const std::vector<Rank>& a, const std::vector<Rank>& b) {
  std::vector<Rank> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

// Returns the ranks that both `ranks` and `hosts` of a table allow; nullopt if neither is given.
Result<std::optional<std::vector<Rank>>> table_ranks(const TablePlacement& placement,
                                                     const Topology& topology,
                                                     const std::string& where) {
  std::optional<std::vector<Rank>> left;
  if (placement.ranks) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        left, checked_numbers(*placement.ranks, topology.world_size(), "rank", where + "/ranks"));
  }
  if (placement.hosts) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        const std::vector<Rank> hosts,
        checked_numbers(*placement.hosts, topology.num_hosts(), "host", where + "/hosts"));
    std::vector<Rank> ranks = ranks_of_hosts(hosts, topology.local_world_size());
    left = left ? common(*left, ranks) : std::move(ranks);
    if (left->empty()) {
      return invalid_input(where + "/hosts", "none of the ranks under `ranks` is on these hosts");
    }
  }
  return left;
}

// Finds contradictions by intersecting the ranks allowed for the first shards of tables. Every
// table has a first shard. Tables kept together form a component of a union-find structure.
// Thread safety: one thread at a time.
class FirstShards {
 public:
  FirstShards(const PlacementRules& rules, const Topology& topology, std::size_t tables)
      : rules_(rules), local_(topology.local_world_size()), ranks_(tables), hosts_(tables) {}

  void merge(const PlacementRules::Group& together) {
    if (together.on == GroupScope::kRank) ranks_.merge(together.tables);
    hosts_.merge(together.tables);
  }

  // Intersects the table's component with its allowed ranks. Returns false if none is left.
  bool narrow(const PlacementRules::Group& together, TableId table) {
    const RankSet* const set = rules_.allowed(table, 0);
    if (set == nullptr) return true;
    const bool by_rank = together.on == GroupScope::kRank;
    return (!by_rank || ranks_.narrow(table, numbers_of(*set, 1))) &&
           hosts_.narrow(table, numbers_of(*set, local_));
  }

  // Returns two tables of the group in the same component, or nullopt.
  std::optional<std::pair<TableId, TableId>> kept_together(const PlacementRules::Group& apart) {
    std::unordered_map<std::size_t, TableId> seen;
    for (const TableId table : apart.tables) {
      const auto [other, added] = seen.try_emplace(components(apart.on).root(table), table);
      if (!added) return std::pair(other->second, table);
    }
    return std::nullopt;
  }

  // Returns true if all tables of the group can have different ranks or hosts. Unrestricted tables
  // need no test, because there are at least as many ranks or hosts as tables.
  bool can_be_apart(const PlacementRules::Group& apart) {
    std::vector<std::vector<Rank>> allowed;
    std::map<Rank, std::uint32_t> column;
    for (const TableId table : apart.tables) {
      const auto& left = components(apart.on).left(table);
      const RankSet* const set = rules_.allowed(table, 0);
      if (!left && set == nullptr) continue;
      allowed.push_back(left ? *left
                             : numbers_of(*set, apart.on == GroupScope::kRank ? 1 : local_));
      for (const Rank number : allowed.back())
        column.try_emplace(number, static_cast<std::uint32_t>(column.size()));
    }
    std::vector<std::vector<bool>> edges(allowed.size(), std::vector<bool>(column.size()));
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      for (const Rank number : allowed[i])
        edges[i][column[number]] = true;
    }
    return can_match(static_cast<std::uint32_t>(allowed.size()),
                     static_cast<std::uint32_t>(column.size()),
                     [&](std::uint32_t table, std::uint32_t to) { return edges[table][to]; });
  }

 private:
  // Union-find over the tables of one scope, with the ranks or hosts allowed for each component.
  class Components {
   public:
    explicit Components(std::size_t size) : parent_(size), left_(size) {
      std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    }
    std::size_t root(TableId table) {
      std::size_t at = table.index();
      while (parent_[at] != at)
        at = parent_[at] = parent_[parent_[at]];
      return at;
    }
    void merge(const std::vector<TableId>& tables) {
      for (const TableId table : tables)
        parent_[root(table)] = root(tables.front());
    }
    bool narrow(TableId table, std::vector<Rank> numbers) {
      std::optional<std::vector<Rank>>& left = left_[root(table)];
      left = left ? common(*left, numbers) : std::move(numbers);
      return !left->empty();
    }
    const std::optional<std::vector<Rank>>& left(TableId table) { return left_[root(table)]; }

   private:
    std::vector<std::size_t> parent_;
    std::vector<std::optional<std::vector<Rank>>> left_;  // valid at roots; nullopt = all
  };

  // Returns the ranks of a set if `divisor` is 1, otherwise its hosts of `divisor` ranks each.
  static std::vector<Rank> numbers_of(const RankSet& set, std::uint32_t divisor) {
    std::vector<Rank> numbers;
    for (const Rank rank : set.ranks()) {
      if (numbers.empty() || numbers.back() != rank / divisor) numbers.push_back(rank / divisor);
    }
    return numbers;
  }
  Components& components(GroupScope on) { return on == GroupScope::kRank ? ranks_ : hosts_; }

  const PlacementRules& rules_;
  std::uint32_t local_;
  Components ranks_;
  Components hosts_;
};

}  // namespace

RankSet::RankSet(std::vector<Rank> ranks, std::uint32_t world_size)
    : ranks_(std::move(ranks)), bits_((world_size + 63) / 64, 0) {
  for (const Rank rank : ranks_)
    bits_[rank / 64] |= std::uint64_t{1} << (rank % 64);
}

std::size_t RankSet::count_in(Rank first, std::uint32_t count) const {
  const auto begin = std::lower_bound(ranks_.begin(), ranks_.end(), first);
  return static_cast<std::size_t>(std::lower_bound(begin, ranks_.end(), first + count) - begin);
}

const RankSet* PlacementRules::allowed(TableId table, std::uint32_t shard) const {
  if (!any()) return nullptr;
  const TableRules& rules = of(table);
  std::uint32_t set = rules.set;
  const auto own =
      std::lower_bound(rules.by_shard.begin(), rules.by_shard.end(), shard,
                       [](const auto& entry, std::uint32_t value) { return entry.first < value; });
  if (own != rules.by_shard.end() && own->first == shard) set = own->second;
  return set == kEverywhere ? nullptr : &sets_[set];
}

std::uint32_t PlacementRules::add_set(std::vector<Rank> ranks, std::uint32_t world_size,
                                      SetNumbers& known) {
  if (ranks.size() == world_size) return kEverywhere;
  const auto [at, added] = known.try_emplace(ranks, static_cast<std::uint32_t>(sets_.size()));
  if (added) sets_.emplace_back(std::move(ranks), world_size);
  return at->second;
}

Status PlacementRules::add_table(const Table& table, const Topology& topology, TableRules& rules,
                                 SetNumbers& known) {
  const TablePlacement& placement = table.placement;
  const std::string where = constraints_place(table.name);
  const std::uint32_t world = topology.world_size();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<std::vector<Rank>> of_table,
                               table_ranks(placement, topology, where));
  if (of_table) {
    rules.set = add_set(*of_table, world, known);
    if (rules.set != kEverywhere) note(where + (placement.ranks ? "/ranks" : "/hosts"));
  }
  for (const ShardRanks& own : placement.shard_ranks) {
    const std::string at = where + "/shard_ranks/" + std::to_string(own.shard);
    if (own.shard < 0 || own.shard > kMaxShard) {
      return invalid_input(at, "the number of a shard must be between 0 and 2^20");
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<Rank> ranks,
                                 checked_numbers(own.ranks, world, "rank", at));
    if (of_table) ranks = common(ranks, *of_table);
    if (ranks.empty()) {
      return invalid_input(at, "none of these ranks is allowed by the table's ranks and hosts");
    }
    const std::uint32_t set = add_set(std::move(ranks), world, known);
    if (set == rules.set) continue;
    rules.by_shard.emplace_back(static_cast<std::uint32_t>(own.shard), set);
    note(at);
  }
  std::sort(rules.by_shard.begin(), rules.by_shard.end());
  const auto twice =
      std::adjacent_find(rules.by_shard.begin(), rules.by_shard.end(),
                         [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != rules.by_shard.end()) {
    return invalid_input(where + "/shard_ranks/" + std::to_string(twice->first),
                         "the shard is named twice");
  }
  if (placement.max_shards) {
    if (*placement.max_shards < 1) {
      return invalid_input(where + "/max_shards", "a table has at least one shard");
    }
    if (*placement.max_shards < std::int64_t{kAnyNumber}) {
      rules.max_shards = static_cast<std::uint32_t>(*placement.max_shards);
      note(where + "/max_shards");
    }
  }
  rules.distinct_ranks = placement.distinct_ranks;
  if (rules.distinct_ranks) note(where + "/distinct_ranks");
  rules.constrained = rules.set != kEverywhere || !rules.by_shard.empty() ||
                      rules.max_shards != kAnyNumber || rules.distinct_ranks;
  return {};
}

Status PlacementRules::add_groups(const std::vector<Table>& tables,
                                  const std::vector<TableGroup>& groups, bool together,
                                  const Topology& topology) {
  std::unordered_map<std::string_view, std::vector<TableId>> by_name;
  for (std::size_t i = 0; i < tables.size() && !groups.empty(); ++i)
    by_name[tables[i].name].emplace_back(i);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group group{together, groups[g].on, {}, {}};
    group.place = std::string(together ? "/keep_together/" : "/keep_apart/") + std::to_string(g);
    if (topology.has_uneven_hosts())
      return invalid_input(group.place, "needs a machine whose ranks are all on a host");
    const std::vector<std::string>& names = groups[g].tables;
    if (names.empty()) return invalid_input(group.place, "must name at least one table");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string at = group.place + "/tables/" + std::to_string(i);
      const auto named = by_name.find(names[i]);
      if (named == by_name.end()) {
        return invalid_input(at, "no table is named " + quoted(names[i]));
      }
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i)) {
        return invalid_input(at, "table " + quoted(names[i]) + " is named twice");
      }
      group.tables.insert(group.tables.end(), named->second.begin(), named->second.end());
    }
    std::sort(group.tables.begin(), group.tables.end());
    const bool by_rank = group.on == GroupScope::kRank;
    const std::size_t places = by_rank ? topology.world_size() : topology.num_hosts();
    if (together ? places == 1 : group.tables.size() == 1) continue;
    if (!together && group.tables.size() > places) {
      return invalid_input(
          group.place, std::to_string(group.tables.size()) + " tables cannot be kept apart on " +
                           std::to_string(places) + (by_rank ? " ranks" : " hosts"));
    }
    for (const TableId table : group.tables) {
      tables_[table.index()].groups.push_back(static_cast<std::uint32_t>(groups_.size()));
      tables_[table.index()].constrained = true;
    }
    note(group.place);
    groups_.push_back(std::move(group));
  }
  return {};
}

Status PlacementRules::check_contradictions(const std::vector<Table>& tables,
                                            const Topology& topology) const {
  FirstShards first(*this, topology, tables.size());
  for (const Group& group : groups_) {
    if (group.together) first.merge(group);
  }
  for (const Group& group : groups_) {
    for (const TableId table : group.tables) {
      if (!group.together || first.narrow(group, table)) continue;
      return invalid_input(group.place,
                           std::string(group.on == GroupScope::kRank ? "no rank" : "no host") +
                               " is allowed for table " + quoted(tables[table.index()].name) +
                               " and the tables that it is kept together with");
    }
  }
  for (const Group& group : groups_) {
    if (group.together) continue;
    if (const auto pair = first.kept_together(group)) {
      return invalid_input(group.place,
                           "tables " + quoted(tables[pair->first.index()].name) + " and " +
                               quoted(tables[pair->second.index()].name) +
                               " are kept apart here, but kept together under /keep_together");
    }
    if (!first.can_be_apart(group)) {
      return invalid_input(group.place,
                           "the ranks and hosts that these tables are allowed are too few to keep "
                           "them apart");
    }
  }
  return {};
}

Result<PlacementRules> PlacementRules::make(const std::vector<Table>& tables,
                                            const std::vector<TableGroup>& keep_together,
                                            const std::vector<TableGroup>& keep_apart,
                                            const Topology& topology) {
  PlacementRules rules;
  const bool placed = std::any_of(tables.begin(), tables.end(),
                                  [](const Table& table) { return table.placement.any(); });
  if (!placed && keep_together.empty() && keep_apart.empty()) return rules;
  rules.tables_.resize(tables.size());
  SetNumbers known;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!tables[i].placement.any()) continue;
    SHARDWRIGHT_RETURN_IF_ERROR(rules.add_table(tables[i], topology, rules.tables_[i], known));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(rules.add_groups(tables, keep_together, true, topology));
  SHARDWRIGHT_RETURN_IF_ERROR(rules.add_groups(tables, keep_apart, false, topology));
  SHARDWRIGHT_RETURN_IF_ERROR(rules.check_contradictions(tables, topology));
  if (!rules.any()) rules.tables_.clear();
  return rules;
}

}  // namespace shardwright::embedding
