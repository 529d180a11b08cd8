#include "core/embedding/evaluation/constraint_violations.h"

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

class ConstraintChecker {
 public:
  ConstraintChecker(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      if (!has_valid_ranks(plan_[i])) continue;
      by_name_.emplace(table_of(plan_[i]).name, i);
      check_table(plan_[i]);
    }
    const ProblemSpec& spec = problem_.spec();
    for (std::size_t g = 0; g < spec.keep_together.size(); ++g)
      check_together(spec.keep_together[g], "/keep_together/" + std::to_string(g));
    for (std::size_t g = 0; g < spec.keep_apart.size(); ++g)
      check_apart(spec.keep_apart[g], "/keep_apart/" + std::to_string(g));
    return std::move(violations_);
  }

 private:
  bool has_valid_ranks(const Assignment& assignment) const {
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
    violations_.push_back(
        described(assignment, first) + ", which " + place + " does not allow" +
        (wrong == 1 ? "" : "; further shards that violate it: " + std::to_string(wrong - 1)));
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
      violations_.push_back("table \"" + table_of(assignment).name + "\" has " +
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
      violations_.push_back(described(assignment, shard) + ", and so is shard " +
                            std::to_string(other->second) + ", but " + place +
                            "/distinct_ranks requires different ranks");
      return;
    }
  }

  // Calls visit(assignment) for every assignment of a table of the group.
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
    bool violated = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !violated; ++shard) {
        if (first == nullptr) first = &assignment;
        const Rank rank = assignment.rank(shard);
        const Rank meeting = first->rank(0);
        violated =
            group.on == GroupScope::kRank ? rank != meeting : host_of(rank) != host_of(meeting);
        if (!violated) continue;
        violations_.push_back(described(assignment, shard) + ", but " + place + " requires " +
                              (group.on == GroupScope::kRank ? "rank " : "the host of rank ") +
                              std::to_string(meeting) + ", which holds shard 0 of table \"" +
                              table_of(*first).name + "\"");
      }
    });
  }

  void check_apart(const TableGroup& group, const std::string& place) {
    std::map<std::uint32_t, const Assignment*> holder;
    bool violated = false;
    for_each_of(group, [&](const Assignment& assignment) {
      for (std::uint32_t shard = 0; shard < assignment.option->num_shards() && !violated; ++shard) {
        const Rank rank = assignment.rank(shard);
        const auto [other, added] =
            holder.try_emplace(group.on == GroupScope::kRank ? rank : host_of(rank), &assignment);
        violated = !added && other->second->option->table != assignment.option->table;
        if (!violated) continue;
        violations_.push_back(described(assignment, shard) + ", but " + place + " forbids a " +
                              (group.on == GroupScope::kRank ? "rank" : "host") +
                              " that holds shards of table \"" + table_of(*other->second).name +
                              "\"");
      }
    });
  }

  const Problem& problem_;
  const Plan& plan_;
  std::multimap<std::string_view, std::size_t> by_name_;  // indices into the plan
  std::vector<std::string> violations_;
};

bool has_constraints(const ProblemSpec& spec) {
  return !spec.keep_together.empty() || !spec.keep_apart.empty() ||
         std::any_of(spec.tables.begin(), spec.tables.end(),
                     [](const Table& table) { return table.placement.any(); });
}

}  // namespace

std::vector<std::string> constraint_violations(const Problem& problem, const Plan& plan) {
  if (!has_constraints(problem.spec())) return {};
  return ConstraintChecker(problem, plan).run();
}

}  // namespace shardwright::embedding
