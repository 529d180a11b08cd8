#include "search/embedding/compat/load_factor_options.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/load_factors.h"
#include "search/embedding/compat/estimate.h"

namespace shardwright::embedding {

Result<ShardingOption> with_load_factor(const ShardingOption& cached,
                                        std::optional<double> load_factor, const CostModel& model) {
  ShardingOption changed = cached;
  changed.load_factor = load_factor;
  return model.estimate(std::move(changed));
}

Result<ShardingOption> in_plain_hbm(const ShardingOption& cached, const CostModel& model) {
  ShardingOption changed = cached;
  changed.load_factor.reset();
  changed.compute_kernel = ComputeKernel::kFused;
  return model.estimate(std::move(changed));
}

namespace {

constexpr double kLowLoadFactor = 0.1;
constexpr double kHighLoadFactor = 0.9;
constexpr int kMaxPasses = 128;

// Divides a budget in several passes.
class Division {
 public:
  explicit Division(const std::vector<CachedTable>& tables) : tables_(tables) {
    for (const CachedTable& table : tables) {
      const double empty = table.model.bytes(0);
      const double full = table.model.bytes(1);
      empty_.push_back(empty);
      full_.push_back(full);
      cache_.push_back(table.model.bytes(table.load_factor) - empty);
    }
    open_.resize(tables.size());
  }

  void spend(double budget) {
    for (int pass = 0; budget > 1 && pass < kMaxPasses; ++pass) {
      if (!find_open()) break;
      budget -= grow(budget);
      budget += promote();
    }
  }

  std::vector<float> load_factors() const {
    std::vector<float> factors;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      factors.push_back(static_cast<float>(cache_[i] / (full_[i] - empty_[i])));
    }
    return factors;
  }

 private:
  // Finds the tables whose caches are not full, for the next pass. Returns false if their
  // priorities sum to 0, which can happen in single precision.
  bool find_open() {
    total_priority_ = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      open_[i] = empty_[i] + cache_[i] < full_[i];
      if (open_[i]) total_priority_ += static_cast<double>(tables_[i].priority);
    }
    return total_priority_ > 0;
  }

  // Returns the bytes that were handed out.
  double grow(double budget) {
    double spent = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const double priority = open_[i] ? static_cast<double>(tables_[i].priority) : 0;
      const double share = budget * (priority / total_priority_);
      const double grown = std::min(cache_[i] + share, full_[i] - empty_[i]);
      spent += grown - cache_[i];
      cache_[i] = grown;
    }
    return spent;
  }

  // Returns the bytes that tables give back because they are smaller without a cache.
  double promote() {
    double reclaimed = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      const double over = empty_[i] + cache_[i] - static_cast<double>(tables_[i].fused_hbm_bytes);
      if (!open_[i] || !(over > 0)) continue;
      reclaimed += over;
      cache_[i] = full_[i] - empty_[i];
    }
    return reclaimed;
  }

  const std::vector<CachedTable>& tables_;
  std::vector<double> empty_, full_, cache_;  // bytes: no cache, full cache, the cache
  std::vector<bool> open_;
  double total_priority_ = 0;
};

}  // namespace

CacheStorageModel fit_cache_storage(std::int64_t low_bytes, std::int64_t high_bytes) {
  CacheStorageModel model;
  model.slope = static_cast<float>(high_bytes - low_bytes) /
                static_cast<float>(kHighLoadFactor - kLowLoadFactor);
  model.base = static_cast<float>(low_bytes) - model.slope * static_cast<float>(kLowLoadFactor);
  return model;
}

std::vector<float> allocate_cache_budget(const std::vector<CachedTable>& tables,
                                         double budget_bytes) {
  Division division(tables);
  division.spend(budget_bytes);
  return division.load_factors();
}

namespace {

using Options = std::vector<const ShardingOption*>;

// Returns the options that a table lacks, in the order of `declared` and of `load_factors`.
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

// Returns the option with the shards of `wanted` and the largest cache up to that of `wanted`, or
// plain HBM if `wanted` is; null if there is none.
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
    const ShardingOption* const option = plan[i].option;
    const bool is_declared =
        !before(option, declared.data()) && before(option, declared.data() + declared.size());
    options.push_back(is_declared
                          ? &space->options()[static_cast<std::size_t>(option - declared.data())]
                          : closest(by_table[option->table.index()], *option));
    if (options.back() == nullptr) return std::nullopt;
  }
  return Plan::generate(space, plan.size(), [&](std::size_t i) {
    return Assignment{options[i], plan[i].ranks};
  });
}

}  // namespace shardwright::embedding
