#include "search/embedding/questions/plan_of_entries.h"

#include <string>
#include <utility>

#include "core/embedding/evaluation/evaluate.h"
#include "search/embedding/questions/option_finder.h"

namespace shardwright::embedding {

namespace {

bool may_be_explained(const Violation& violation) {
  return violation.kind == Violation::Kind::kOutOfMemory ||
         violation.kind == Violation::Kind::kPlacementConstraint;
}

}  // namespace

Result<Plan> plan_of_entries(const std::shared_ptr<const SearchSpace>& space,
                             const std::vector<PlanEntry>& entries) {
  OptionFinder finder(space);
  const Topology& topology = space->problem().topology();
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::string where = "/plan/" + std::to_string(i);
    const PlanEntry& entry = entries[i];
    const Result<const ShardingOption*> option = finder.find_option(entry);
    if (!option.ok()) return invalid_input(where, option.error().message);
    if (entry.ranks.size() != (*option)->num_shards()) {
      return invalid_input(where + "/ranks", "table \"" + entry.table + "\" has " +
                                                 std::to_string((*option)->num_shards()) +
                                                 " shards, the file has " +
                                                 std::to_string(entry.ranks.size()) + " ranks");
    }
    options.push_back(*option);
    for (const std::int64_t rank : entry.ranks) {
      if (rank < 0 || rank >= topology.world_size()) {
        return invalid_input(where + "/ranks", "table \"" + entry.table + "\" is on rank " +
                                                   std::to_string(rank) + ", which does not exist");
      }
      ranks.push_back(static_cast<Rank>(rank));
    }
  }
  Plan plan = Plan::make(finder.owner(), options, ranks);
  const Evaluation evaluation = evaluate(space->problem(), topology, plan);
  for (const Violation& violation : evaluation.violations) {
    if (!may_be_explained(violation)) return invalid_input("/plan", violation.message);
  }
  return plan;
}

}  // namespace shardwright::embedding
