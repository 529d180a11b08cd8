#include "search/embedding/model/allowed_choices.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <string>

#include "core/embedding/problem/placement_spec.h"
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
    // A copy, since filter() moves the choices while `keep` reads them.
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

  // Disjoint sets of tables, by position: those that must share a rank or a host.
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

  // The tables of a rank component need a common rank, and those of a host component a common host.
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

  // For tables kept together, by table and choice: the hosts that can hold all its shards. For a
  // table that shares a rank with others, the hosts of the ranks that can hold all of these.
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

  // Tables kept apart share no rank or host, so their least numbers of them add up.
  Status filter_apart(const PlacementRules::Group& group) {
    const bool by_rank = group.on == GroupScope::kRank;
    const auto least = [&](const TableChoices& table, const Choice& choice) -> std::uint64_t {
      const PlacementCheck check = check_of(table, choice);
      return by_rank ? check.min_ranks() : check.min_hosts();
    };
    std::uint64_t total = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> members;  // position, least of any choice
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

}  // namespace shardwright::embedding
