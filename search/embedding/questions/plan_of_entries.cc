#include "search/embedding/questions/plan_of_entries.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/embedding/evaluate.h"
#include "search/embedding/compat/estimate.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/model/greedy_placer.h"

namespace shardwright::embedding {
namespace {

Error not_found(std::string message) {
  return Error{ErrorCode::kVerificationFailed, std::move(message), ""};
}

Error not_in_space(const PlanEntry& entry) {
  return not_found(
      "table \"" + entry.table + "\": option " + std::string(to_name(entry.sharding_type)) +
      " with " + std::string(to_name(entry.compute_kernel)) +
      (entry.load_factor ? " and its load factor" : "") + " is not in the search space");
}

// How well an option matches the entry of the file; 0 = another option. A search space may have
// several options of one type and kernel with different shards.
int closeness(const ShardingOption& option, const PlanEntry& entry) {
  if (option.sharding_type != entry.sharding_type ||
      option.compute_kernel != entry.compute_kernel || option.load_factor != entry.load_factor) {
    return 0;
  }
  if (option.num_shards() != entry.ranks.size()) return 1;
  return entry.layout && *option.layout == *entry.layout ? 3 : 2;
}

bool scales_caches(const Problem& problem) {
  const auto& proposers = problem.spec().proposers;
  return std::any_of(proposers.begin(), proposers.end(), [](const ProposerSpec& proposer) {
    return proposer.type == ProposerSpec::Type::kScaleup;
  });
}

}  // namespace

OptionFinder::OptionFinder(std::shared_ptr<const SearchSpace> space)
    : space_(std::move(space)),
      options_by_table_(space_->problem().tables().size()),
      layer_(std::make_shared<OptionLayer>(space_)) {
  const auto& tables = space_->problem().tables();
  for (std::size_t i = 0; i < tables.size(); ++i)
    tables_by_name_[tables[i].name].emplace_back(i);
  for (const ShardingOption& option : space_->options()) {
    options_by_table_[option.table.index()].push_back(&option);
  }
}

Result<TableId> OptionFinder::find_table(const PlanEntry& entry) const {
  const auto named = tables_by_name_.find(entry.table);
  if (named == tables_by_name_.end()) {
    return not_found("the problem has no table \"" + entry.table + "\"");
  }
  if (entry.module.empty() && named->second.size() == 1) return named->second.front();
  for (const TableId id : named->second) {
    if (space_->problem().table(id).module == entry.module) return id;
  }
  return not_found("no table \"" + entry.table + "\" in module \"" + entry.module + "\"");
}

Result<const ShardingOption*> OptionFinder::find_option(const PlanEntry& entry) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const TableId table, find_table(entry));
  const ShardingOption* found = nullptr;
  int best = 0;
  for (const ShardingOption* option : options_by_table_[table.index()]) {
    const int own = closeness(*option, entry);
    if (own <= best) continue;
    found = option;
    best = own;
  }
  if (found != nullptr) return found;
  if (scales_caches(space_->problem())) return remake_option(table, entry);
  return not_in_space(entry);
}

// Scale-up only resizes or removes the cache of a UVM-caching option.
Result<const ShardingOption*> OptionFinder::remake_option(TableId table, const PlanEntry& entry) {
  const bool rescaled =
      entry.compute_kernel == ComputeKernel::kFusedUvmCaching && entry.load_factor;
  const bool promoted = entry.compute_kernel == ComputeKernel::kFused && !entry.load_factor;
  for (const ShardingOption* option : options_by_table_[table.index()]) {
    if (option->sharding_type != entry.sharding_type || !(rescaled || promoted) ||
        option->compute_kernel != ComputeKernel::kFusedUvmCaching) {
      continue;
    }
    const Estimator estimator(space_->problem());
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        ShardingOption changed, promoted ? in_plain_hbm(*option, estimator)
                                         : with_load_factor(*option, entry.load_factor, estimator));
    return layer_->intern(std::move(changed));
  }
  return not_in_space(entry);
}

std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     PlanLoads& loads) {
  const double before = loads.rating();
  std::optional<Assignment> best;
  std::vector<Rank> best_ranks;
  Badness least;
  for (const ShardingOption* const option : options) {
    GreedyPlacer placer(problem, available, *option, loads);
    const std::vector<Rank> ranks = placer.place();
    if (ranks.empty()) continue;
    Badness now = placer.badness(ranks);
    std::get<1>(now) = std::max(std::get<1>(now), before);
    placer.take_back(ranks);
    if (best && least <= now) continue;
    const bool uniform = option->partition_by() == PartitionBy::kUniform;
    best = {option, uniform ? SharedArray<Rank>() : SharedArray<Rank>(std::span(ranks))};
    least = now;
  }
  if (best) loads.add(*best);
  return best;
}

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
