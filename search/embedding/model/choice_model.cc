#include "search/embedding/model/choice_model.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>

#include "core/check.h"
#include "core/embedding/bound/bound_options.h"
#include "core/embedding/problem/table.h"
#include "search/embedding/model/placement_check.h"

namespace shardwright::embedding {
namespace {

using Bits = std::vector<bool>;

void unite(Bits& into, const Bits& other) {
  for (std::size_t i = 0; i < into.size(); ++i)
    into[i] = into[i] || other[i];
}

class Filter {
 public:
  Filter(const Problem& problem, std::vector<TableChoices>& tables)
      : problem_(problem),
        rules_(problem.rules()),
        topology_(problem.topology()),
        tables_(tables),
        position_(problem.tables().size()) {
    for (std::size_t t = 0; t < tables.size(); ++t)
      position_[tables[t].id.index()] = t;
  }

  Status run() {
    for (TableChoices& table : tables_) {
      SHARDWRIGHT_RETURN_IF_ERROR(filter_alone(table));
    }
    if (!rules_.any()) return {};
    SHARDWRIGHT_RETURN_IF_ERROR(filter_together());
    for (const PlacementRules::Group& group : rules_.groups()) {
      if (group.together) continue;
      SHARDWRIGHT_RETURN_IF_ERROR(filter_apart(group));
    }
    return {};
  }

 private:
  std::string quoted_name(const TableChoices& table) const {
    return "\"" + problem_.table(table.id).name + "\"";
  }
  PlacementCheck check_of(const TableChoices& table, const Choice& choice) const {
    return PlacementCheck(rules_, topology_, table.id, choice);
  }

  // Keeps the choices that `keep` accepts. Returns an error if there are none.
  template <class Keep>
  Status filter(TableChoices& table, const Keep& keep, const std::string& place,
                const std::string& why) {
    std::size_t i = 0;
    std::erase_if(table.choices, [&](const Choice&) { return !keep(i++); });
    if (!table.choices.empty()) return {};
    return Error{ErrorCode::kInfeasible,
                 "table " + quoted_name(table) + " has no option left: " + why, place};
  }

  Status filter_alone(TableChoices& table) {
    if (table.choices.empty()) {
      return Error{ErrorCode::kInfeasible,
                   "no option of table " + quoted_name(table) +
                       " has as many shards as its sharding type places on these ranks",
                   ""};
    }
    if (!rules_.constrains(table.id)) return {};
    const std::string place = constraints_place(problem_.table(table.id).name);
    std::uint32_t fewest = table.choices.front().num_shards;
    for (const Choice& choice : table.choices)
      fewest = std::min(fewest, choice.num_shards);
    const std::uint32_t most = rules_.max_shards(table.id);
    // A copy, because filter() moves the choices while `keep` reads them.
    const std::vector<Choice> before = table.choices;
    SHARDWRIGHT_RETURN_IF_ERROR(filter(
        table, [&](std::size_t i) { return before[i].num_shards <= most; }, place + "/max_shards",
        "all have at least " + std::to_string(fewest) + " shards, and max_shards is " +
            std::to_string(most)));
    const std::vector<Choice> left = table.choices;
    return filter(
        table, [&](std::size_t i) { return check_of(table, left[i]).is_possible(); }, place,
        "the ranks and hosts that its constraints allow have no place for the shards of any "
        "option");
  }

  // Disjoint sets of tables that must share a rank or a host, by position in tables_.
  struct Components {
    std::vector<std::size_t> parent;

    explicit Components(std::size_t size) : parent(size) {
      std::iota(parent.begin(), parent.end(), std::size_t{0});
    }
    std::size_t root(std::size_t at) {
      while (parent[at] != at)
        at = parent[at] = parent[parent[at]];
      return at;
    }
  };

  // Counts, for each rank or host, how many tables of a component can be there.
  struct Votes {
    std::vector<std::uint32_t> votes;
    std::uint32_t members = 0;

    void add(const Bits& possible) {
      votes.resize(possible.size());
      ++members;
      for (std::size_t i = 0; i < possible.size(); ++i)
        votes[i] += possible[i] ? 1U : 0U;
    }
    Bits unanimous() const {
      Bits all(votes.size());
      for (std::size_t i = 0; i < votes.size(); ++i)
        all[i] = votes[i] == members;
      return all;
    }
  };

  Bits hosts_of(const Bits& ranks) const {
    Bits hosts(topology_.num_hosts());
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (ranks[rank]) hosts[rank / topology_.local_world_size()] = true;
    }
    return hosts;
  }

  // Drops choices without a rank or host that all tables of a component can share.
  Status filter_together() {
    const std::size_t size = tables_.size();
    Components one_rank(size);
    Components one_host(size);
    Bits by_rank(size);
    std::vector<const std::string*> place(size, nullptr);
    for (const PlacementRules::Group& group : rules_.groups()) {
      if (!group.together) continue;
      std::optional<std::size_t> first;
      for (const TableId id : group.tables) {
        const std::optional<std::size_t> at = position_[id.index()];
        if (!at) continue;
        if (!first) first = at;
        if (place[*at] == nullptr) place[*at] = &group.place;
        one_host.parent[one_host.root(*at)] = one_host.root(*first);
        if (group.on != GroupScope::kRank) continue;
        by_rank[*at] = true;
        one_rank.parent[one_rank.root(*at)] = one_rank.root(*first);
      }
    }
    const std::vector<std::vector<Bits>> hosts = possible_hosts(one_rank, by_rank, place);
    std::vector<Votes> votes(size);
    for (std::size_t t = 0; t < size; ++t) {
      if (place[t] == nullptr) continue;
      Bits any(topology_.num_hosts());
      for (const Bits& of_choice : hosts[t])
        unite(any, of_choice);
      votes[one_host.root(t)].add(any);
    }
    for (std::size_t t = 0; t < size; ++t) {
      if (place[t] == nullptr) continue;
      const Bits meeting = votes[one_host.root(t)].unanimous();
      const auto keep = [&](std::size_t i) {
        for (std::size_t host = 0; host < meeting.size(); ++host) {
          if (meeting[host] && hosts[t][i][host]) return true;
        }
        return false;
      };
      SHARDWRIGHT_RETURN_IF_ERROR(filter(tables_[t], keep, *place[t],
                                         "none can be on one rank or host with the tables that "
                                         "it is kept together with"));
    }
    return {};
  }

  // Returns, by table and choice of tables kept together, the hosts that can hold all shards of the
  // choice. If the table must share a rank, the hosts of ranks that can hold all tables of its
  // component.
  std::vector<std::vector<Bits>> possible_hosts(Components& one_rank, const Bits& by_rank,
                                                const std::vector<const std::string*>& place) {
    std::vector<std::vector<Bits>> possible(tables_.size());
    std::vector<Votes> votes(tables_.size());
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (place[t] == nullptr) continue;
      Bits any(by_rank[t] ? topology_.world_size() : topology_.num_hosts());
      for (const Choice& choice : tables_[t].choices) {
        const PlacementCheck check = check_of(tables_[t], choice);
        Bits& bits = possible[t].emplace_back(any.size());
        for (std::uint32_t i = 0; i < bits.size(); ++i)
          bits[i] = by_rank[t] ? check.is_possible_on_rank(i) : check.is_possible_on_host(i);
        unite(any, bits);
      }
      if (by_rank[t]) votes[one_rank.root(t)].add(any);
    }
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (!by_rank[t]) continue;
      const Bits meeting = votes[one_rank.root(t)].unanimous();
      for (Bits& bits : possible[t]) {
        for (std::size_t rank = 0; rank < bits.size(); ++rank)
          bits[rank] = bits[rank] && meeting[rank];
        bits = hosts_of(bits);
      }
    }
    return possible;
  }

  // Tables kept apart share no rank or host, so the least numbers of ranks or hosts that they need
  // add up.
  Status filter_apart(const PlacementRules::Group& group) {
    const bool by_rank = group.on == GroupScope::kRank;
    const auto least = [&](const TableChoices& table, const Choice& choice) -> std::uint64_t {
      const PlacementCheck check = check_of(table, choice);
      return by_rank ? check.min_ranks() : check.min_hosts();
    };
    std::uint64_t total = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> members;  // position, least number needed
    for (const TableId id : group.tables) {
      const std::optional<std::size_t> at = position_[id.index()];
      if (!at) continue;
      std::uint64_t fewest = std::uint64_t{1} << 32;
      for (const Choice& choice : tables_[*at].choices)
        fewest = std::min(fewest, least(tables_[*at], choice));
      members.emplace_back(*at, fewest);
      total += fewest;
    }
    const std::uint64_t num_places = by_rank ? topology_.world_size() : topology_.num_hosts();
    for (const auto& [at, fewest] : members) {
      const std::vector<Choice> before = tables_[at].choices;
      const std::uint64_t others = total - fewest;
      const auto keep = [&, &table = tables_[at]](std::size_t i) {
        return least(table, before[i]) + others <= num_places;
      };
      SHARDWRIGHT_RETURN_IF_ERROR(filter(tables_[at], keep, group.place,
                                         "all would leave the tables kept apart from it too few " +
                                             std::string(by_rank ? "ranks" : "hosts")));
    }
    return {};
  }

  const Problem& problem_;
  const PlacementRules& rules_;
  const Topology& topology_;
  std::vector<TableChoices>& tables_;
  std::vector<std::optional<std::size_t>> position_;  // by table id
};

}  // namespace

Status keep_allowed(const Problem& problem, std::vector<TableChoices>& tables) {
  return Filter(problem, tables).run();
}

ChoiceModel::ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget)
    : ChoiceModel(pool, available, budget, Kind::kSearch) {}

ChoiceModel::ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget,
                         Kind kind)
    : pool_(&pool),
      world_size_(available.world_size()),
      local_world_size_(available.local_world_size()),
      load_is_memory_(pool.problem().spec().perf_model == PerfModel::kStorage),
      all_cuts_(kind == Kind::kAllCuts),
      topology_(available) {
  const bool for_bounds = kind == Kind::kForBounds;
  if (!load_is_memory_) time_scale_ = pool.problem().spec().calibration.rank_time;
  const Status stopped = Error{ErrorCode::kStopped, "stopped while choosing options", ""};
  std::vector<TableChoices> tables;
  for (const OptionPool::TableOptions& table : pool.tables()) {
    if (budget.interrupted()) {
      status_ = stopped;
      return;
    }
    std::vector<Choice>& choices = tables.emplace_back(TableChoices{table.table, {}}).choices;
    for (const OptionId id : table.options) {
      if (!for_bounds || may_have_place(rules(), topology_, pool.option(id))) add(id, choices);
    }
    for (std::size_t added = pool.space().size(); added < pool.size() && !for_bounds; ++added) {
      if (pool.option(OptionId(added)).table == table.table) add(OptionId(added), choices);
    }
  }
  if (!for_bounds) status_ = keep_allowed(pool.problem(), tables);
  choice_of_.assign(pool.size(), kNone);
  first_choice_.push_back(0);
  for (const TableChoices& table : tables) {
    if (budget.interrupted()) {
      status_ = stopped;
      return;
    }
    keep_undominated(table, for_bounds || rules().same_for_all_shards(table.id));
    first_choice_.push_back(static_cast<std::uint32_t>(choices_.size()));
  }
}

std::size_t ChoiceModel::table_of(std::uint32_t choice) const {
  const auto next = std::upper_bound(first_choice_.begin(), first_choice_.end(), choice);
  return static_cast<std::size_t>(next - first_choice_.begin()) - 1;
}

ChoiceModel ChoiceModel::relaxed(std::span<const std::vector<ChoiceRun>> runs) const {
  ChoiceModel own(*this);
  own.choices_.clear();
  own.runs_.clear();
  own.first_choice_.assign(1, 0);
  own.choice_of_.assign(choice_of_.size(), kNone);
  for (std::size_t table = 0; table < num_tables(); ++table) {
    for (std::uint32_t c = first_choice_[table]; c < first_choice_[table + 1]; ++c) {
      if (runs[c].empty()) continue;
      Choice choice = choices_[c];
      own.add_runs(runs[c], choice);
      own.choice_of_[choice.option.index()] = static_cast<std::uint32_t>(own.choices_.size());
      own.choices_.push_back(choice);
    }
    own.first_choice_.push_back(static_cast<std::uint32_t>(own.choices_.size()));
  }
  return own;
}

void ChoiceModel::add_runs(std::span<const ChoiceRun> runs, Choice& choice) {
  choice.first_run = static_cast<std::uint32_t>(runs_.size());
  choice.num_runs = static_cast<std::uint32_t>(runs.size());
  choice.load = 0;
  choice.max_load = 0;
  choice.storage = {};
  for (const ChoiceRun& run : runs) {
    runs_.push_back(run);
    choice.load += run.load * run.count;
    choice.max_load = std::max(choice.max_load, run.load);
    choice.storage += std::int64_t{run.count} * run.storage;
  }
  choice.bytes = as_doubles(choice.storage);
}

Reach ChoiceModel::reach_of(const OptionRow& row) const {
  const bool everywhere = is_one_host() && row.num_shards == world_size_;
  switch (row.partition_by) {
    case PartitionBy::kDevice:
      return Reach::kDevice;
    case PartitionBy::kUniform:
      return Reach::kAllRanks;
    case PartitionBy::kMultiHost:
      if (local_world_size_ == 1 && !everywhere) return Reach::kDevice;
      break;
    case PartitionBy::kHost:
      if (row.sharding_type == ShardingType::kTableRowWise) break;
      if (is_one_host() || (row.num_shards == 1 && !has_uneven_hosts())) return Reach::kDevice;
      return Reach::kHost;
  }
  return everywhere ? Reach::kAllRanks : Reach::kWholeHosts;
}

// Adds a choice unless the sharding type cannot place the option's number of shards on this
// machine.
void ChoiceModel::add(OptionId id, std::vector<Choice>& choices) {
  const OptionRow& row = pool_->row(id);
  Choice choice;
  choice.option = id;
  choice.reach = reach_of(row);
  choice.first_run = static_cast<std::uint32_t>(runs_.size());
  choice.num_runs = row.num_runs;
  choice.num_shards = row.num_shards;
  if (choice.reach == Reach::kAllRanks && choice.num_shards != world_size_) return;
  if (choice.reach == Reach::kWholeHosts && choice.num_shards % local_world_size_ != 0) return;
  const bool on_hosts = choice.reach == Reach::kWholeHosts || choice.reach == Reach::kHost;
  if (on_hosts && num_hosts() == 0) return;
  const std::span<const RunCost> costs = pool_->costs(row);
  for (std::uint32_t run = 0; run < row.num_runs; ++run) {
    const double load = load_is_memory_ ? static_cast<double>(costs[run].storage.hbm.value())
                                        : costs[run].total_ms();
    const std::uint32_t count = pool_->run_counts(row)[run];
    runs_.push_back({count, load, costs[run].storage});
    choice.load += load * count;
    choice.max_load = std::max(choice.max_load, load);
  }
  choice.storage = row.storage;
  choice.bytes = as_doubles(row.storage);
  choices.push_back(choice);
}

// Returns true if both have the same reach and every shard of `a` costs no more than that of `b`. A
// choice of a single shard also dominates a choice with a more expensive shard, because it can take
// this shard's rank. Rules must then allow the same ranks for every shard.
bool ChoiceModel::dominates(const Choice& a, const Choice& b, bool same_for_all_shards) const {
  const auto costs_no_more = [](const ChoiceRun& x, const ChoiceRun& y) {
    return x.load <= y.load && x.storage.fits_in(y.storage);
  };
  if (all_cuts_ && *pool_->option(a.option).layout != *pool_->option(b.option).layout) return false;
  const std::span<const ChoiceRun> own = runs(a);
  const std::span<const ChoiceRun> other = runs(b);
  if (a.reach == Reach::kDevice && a.num_shards == 1 && same_for_all_shards) {
    return std::any_of(other.begin(), other.end(), [&](const ChoiceRun& run) {
      return run.count > 0 && costs_no_more(own[0], run);
    });
  }
  if (a.reach != b.reach || a.num_shards != b.num_shards) return false;
  std::uint32_t left_own = 0;
  std::uint32_t left_other = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  for (std::uint32_t shard = 0; shard < a.num_shards;) {
    while (left_own == 0)
      left_own = own[i++].count;
    while (left_other == 0)
      left_other = other[j++].count;
    if (!costs_no_more(own[i - 1], other[j - 1])) return false;
    const std::uint32_t step = std::min(left_own, left_other);
    left_own -= step;
    left_other -= step;
    shard += step;
  }
  return true;
}

void ChoiceModel::keep_undominated(const TableChoices& table, bool same) {
  const std::vector<Choice>& all = table.choices;
  const auto is_better = [&](std::size_t j, std::size_t i) {
    return i != j && dominates(all[j], all[i], same) && (j < i || !dominates(all[i], all[j], same));
  };
  const auto first = choices_.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool dominated = false;
    for (std::size_t j = 0; j < all.size() && !dominated; ++j)
      dominated = is_better(j, i);
    if (dominated) continue;
    choice_of_[all[i].option.index()] = static_cast<std::uint32_t>(choices_.size());
    choices_.push_back(all[i]);
  }
  for (const Choice& choice : all) {
    std::uint32_t& own = choice_of_[choice.option.index()];
    for (std::size_t k = first; k < choices_.size() && own == kNone; ++k) {
      if (dominates(choices_[k], choice, same)) own = static_cast<std::uint32_t>(k);
    }
  }
}

}  // namespace shardwright::embedding
