#include "core/embedding/broken_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "core/embedding/problem/placement_spec.h"

namespace shardwright::embedding {
namespace {

bool among(std::int64_t number, const std::vector<std::int64_t>& numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

class RuleChecker {
 public:
  RuleChecker(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!makes_sense(plan_[i])) continue;
      by_name_.emplace(table_of(plan_[i]).name, i);
      check_table(plan_[i]);
    }
    const ProblemSpec& spec = problem_.spec();
    for (std::size_t g = 0; g < spec.keep_together.size(); ++g)
      check_together(spec.keep_together[g], "/keep_together/" + std::to_string(g));
    for (std::size_t g = 0; g < spec.keep_apart.size(); ++g)
      check_apart(spec.keep_apart[g], "/keep_apart/" + std::to_string(g));
    return std::move(broken_);
  }

 private:
  bool makes_sense(const Assignment& assignment) const {
    const ShardingOption& option = *assignment.option;
    if (option.table.index() >= problem_.tables().size()) return false;
    if (assignment.ranks.size() != 0 && assignment.ranks.size() != option.num_shards())
      return false;
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard) {
      if (assignment.rank(shard) >= problem_.topology().world_size()) return false;
    }
    return true;
  }

  const Table& table_of(const Assignment& assignment) const {
    return problem_.table(assignment.option->table);
  }
  std::uint32_t host_of(Rank rank) const { return rank / problem_.topology().local_world_size(); }
  std::string described(const Assignment& assignment, std::uint32_t shard) const {
    return "shard " + std::to_string(shard) + " of table \"" + table_of(assignment).name +
           "\" is on rank " + std::to_string(assignment.rank(shard));
  }

  template <class Allowed>
  void check_shards(const Assignment& assignment, const std::string& place,
                    const Allowed& allowed) {
    std::uint32_t first = 0;
    std::uint32_t wrong = 0;
    for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
      if (allowed(shard, assignment.rank(shard))) continue;
      if (wrong++ == 0) first = shard;
    }
    if (wrong == 0) return;
    broken_.push_back(
        described(assignment, first) + ", which " + place + " does not allow" +
        (wrong == 1 ? "" : "; nor does it " + std::to_string(wrong - 1) + " more of its shards"));
  }

  void check_table(const Assignment& assignment) {
    const TablePlacement& rules = table_of(assignment).placement;
    const std::string place = constraints_place(table_of(assignment).name);
    const std::uint32_t shards = assignment.option->num_shards();
    if (rules.ranks) {
      check_shards(assignment, place + "/ranks",
                   [&](std::uint32_t, Rank rank) { return among(rank, *rules.ranks); });
    }
    if (rules.hosts) {
      check_shards(assignment, place + "/hosts",
                   [&](std::uint32_t, Rank rank) { return among(host_of(rank), *rules.hosts); });
    }
    for (const ShardRanks& own : rules.shard_ranks) {
      check_shards(assignment, place + "/shard_ranks/" + std::to_string(own.shard),
                   [&](std::uint32_t shard, Rank rank) {
                     return shard != own.shard || among(rank, own.ranks);
                   });
    }
    if (rules.max_shards && shards > *rules.max_shards) {
      broken_.push_back("table \"" + table_of(assignment).name + "\" has " +
                        std::to_string(shards) + " shards, and " + place +
                        "/max_shards allows at most " + std::to_string(*rules.max_shards));
    }
    if (rules.distinct_ranks) check_distinct(assignment, place);
  }

  void check_distinct(const Assignment& assignment, const std::string& place) {
    std::map<Rank, std::uint32_t> holder;
    for (std::uint32_t shard = 0; shard < assignment.option->num_shards(); ++shard) {
      const auto [other, added] = holder.try_emplace(assignment.rank(shard), shard);
      if (added) continue;
      broken_.push_back(described(assignment, shard) + ", and so is shard " +
                        std::to_string(other->second) + ", although " + place +
                        "/distinct_ranks asks for different ranks");
      return;
    }
  }

  // Calls visit(assignment) for what the plan says of the group's tables.
  template <class Visit>
  void for_each_of(const TableGroup& group, const Visit& visit) const {
    for (const std::string& name : group.tables) {
      const auto [begin, end] = by_name_.equal_range(name);
      for (auto entry = begin; entry != end; ++entry)
        visit(plan_[entry->second]);
    }
  }

  void check_together(const TableGroup& group, const std::string& place) {
    const Assignment* first = nullptr;
    bool broken = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !broken; ++shard) {
        if (first == nullptr) first = &assignment;
        const Rank rank = assignment.rank(shard);
        const Rank meeting = first->rank(0);
        broken =
            group.on == GroupScope::kRank ? rank != meeting : host_of(rank) != host_of(meeting);
        if (!broken) continue;
        broken_.push_back(described(assignment, shard) + ", but " + place + " keeps it on one " +
                          (group.on == GroupScope::kRank ? "rank" : "host") + " with rank " +
                          std::to_string(meeting) + ", where shard 0 of table \"" +
                          table_of(*first).name + "\" is");
      }
    });
  }

  void check_apart(const TableGroup& group, const std::string& place) {
    std::map<std::uint32_t, const Assignment*> holder;
    bool broken = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !broken; ++shard) {
        const Rank rank = assignment.rank(shard);
        const auto [other, added] =
            holder.try_emplace(group.on == GroupScope::kRank ? rank : host_of(rank), &assignment);
        broken = !added && other->second->option->table != assignment.option->table;
        if (!broken) continue;
        broken_.push_back(described(assignment, shard) + ", and " + place + " keeps it from a " +
                          (group.on == GroupScope::kRank ? "rank" : "host") +
                          " that holds shards of table \"" + table_of(*other->second).name + "\"");
      }
    });
  }

  const Problem& problem_;
  const Plan& plan_;
  std::multimap<std::string_view, std::size_t> by_name_;  // entries of the plan
  std::vector<std::string> broken_;
};

bool has_constraints(const ProblemSpec& spec) {
  return !spec.keep_together.empty() || !spec.keep_apart.empty() ||
         std::any_of(spec.tables.begin(), spec.tables.end(),
                     [](const Table& table) { return table.placement.any(); });
}

}  // namespace

std::vector<std::string> broken_rules(const Problem& problem, const Plan& plan) {
  if (!has_constraints(problem.spec())) return {};
  return RuleChecker(problem, plan).run();
}

}  // namespace shardwright::embedding
