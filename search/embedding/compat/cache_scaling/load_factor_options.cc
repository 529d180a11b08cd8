#include "search/embedding/compat/cache_scaling/load_factor_options.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/caches/check_load_factors.h"
#include "search/embedding/compat/cache_scaling/rescaled_option.h"
#include "search/embedding/compat/estimate/estimate.h"

namespace shardwright::embedding {
namespace {

using Options = std::vector<const ShardingOption*>;

// The options that a table lacks, in the order of `declared`, by load factor.
Result<std::vector<ShardingOption>> missing_options(const Options& declared,
                                                    const std::vector<double>& load_factors,
                                                    const CostModel& model) {
  std::vector<ShardingOption> added;
  const auto is_there = [&](const ShardingOption& cached, double load_factor) {
    const auto same = [&](const ShardingOption& option) {
      return is_rescaled(option, cached, load_factor);
    };
    return std::any_of(declared.begin(), declared.end(),
                       [&](const ShardingOption* option) { return same(*option); }) ||
           std::any_of(added.begin(), added.end(), same);
  };
  for (const ShardingOption* const cached : declared) {
    if (!has_cache(*cached)) continue;
    for (const double load_factor : load_factors) {
      if (is_there(*cached, load_factor)) continue;
      SHARDWRIGHT_ASSIGN_OR_RETURN(ShardingOption option,
                                   load_factor < 1 ? with_load_factor(*cached, load_factor, model)
                                                   : in_plain_hbm(*cached, model));
      SHARDWRIGHT_RETURN_IF_ERROR(check_costs(option));
      added.push_back(std::move(option));
    }
  }
  return added;
}

// The largest cache of the same shards that is no larger, or plain HBM for plain HBM; null if there
// is none.
const ShardingOption* closest(const Options& options, const ShardingOption& wanted) {
  const ShardingOption* found = nullptr;
  for (const ShardingOption* const option : options) {
    const bool same = option->sharding_type == wanted.sharding_type &&
                      option->compute_kernel == wanted.compute_kernel &&
                      *option->layout == *wanted.layout;
    if (!same) continue;
    if (!has_cache(wanted)) return option;
    if (option->load_factor > wanted.load_factor) continue;
    if (found == nullptr || option->load_factor > found->load_factor) found = option;
  }
  return found;
}

}  // namespace

Result<std::shared_ptr<const SearchSpace>> with_load_factors(
    std::shared_ptr<const SearchSpace> space, Executor& executor, const Budget& budget,
    const CostModel* cost_model) {
  const std::vector<TableLoadFactors> sets = load_factors_to_choose(space->problem());
  if (sets.empty() || space->base() != nullptr) return space;
  const Estimator estimator(space->problem());
  const CostModel& model = cost_model == nullptr ? estimator : *cost_model;
  const std::vector<Options> declared = options_by_table(space->problem(), space->options());
  std::vector<std::optional<Result<std::vector<ShardingOption>>>> of_set(sets.size());
  constexpr std::size_t kGrain = 16;
  executor.parallel_for(sets.size(), kGrain, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !budget.interrupted(); ++i)
      of_set[i].emplace(missing_options(declared[sets[i].table.index()], sets[i].values, model));
  });
  std::vector<ShardingOption> added;
  for (auto& options : of_set) {
    if (!options) return Error{ErrorCode::kStopped, "stopped while sizing caches", ""};
    if (!options->ok()) return options->error();
    for (ShardingOption& option : std::move(*options).value())
      added.push_back(std::move(option));
  }
  return SearchSpace::extend(std::move(space), std::move(added));
}

std::optional<Plan> on_load_factors(const std::shared_ptr<const SearchSpace>& space,
                                    const Plan& plan) {
  const std::span<const ShardingOption> declared = space->declared().options();
  const std::vector<Options> by_table = options_by_table(space->problem(), space->options());
  const std::less<> before;
  Options options;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption* const own = plan[i].option;
    const bool is_declared =
        !before(own, declared.data()) && before(own, declared.data() + declared.size());
    options.push_back(is_declared
                          ? &space->options()[static_cast<std::size_t>(own - declared.data())]
                          : closest(by_table[own->table.index()], *own));
    if (options.back() == nullptr) return std::nullopt;
  }
  return Plan::generate(space, plan.size(), [&](std::size_t i) {
    return Assignment{options[i], plan[i].ranks};
  });
}

}  // namespace shardwright::embedding
