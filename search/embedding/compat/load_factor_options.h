// Options with caches of other sizes, for the scale-up proposer and for best mode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/search_space.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/compat/estimate.h"
#include "search/executor.h"

namespace shardwright::embedding {

// Returns `cached` with another load factor (empty: the table names none) and costs by `model`.
// Precondition: the kernel is fused_uvm_caching. Errors: those of `model`.
Result<ShardingOption> with_load_factor(const ShardingOption& cached,
                                        std::optional<double> load_factor, const CostModel& model);

// Returns `cached` without a cache, with all rows in HBM and costs by `model`.
Result<ShardingOption> in_plain_hbm(const ShardingOption& cached, const CostModel& model);

// HBM of one table as an affine function of its cache load factor, in single precision:
// bytes = slope x load_factor + base.
struct CacheStorageModel {
  float slope = 0;
  float base = 0;

  double bytes(float load_factor) const { return static_cast<double>(slope * load_factor + base); }
};

// Fits the model to the bytes at load factors 0.1 and 0.9.
CacheStorageModel fit_cache_storage(std::int64_t low_bytes, std::int64_t high_bytes);

// A table to which allocate_cache_budget() gives bytes.
struct CachedTable {
  CacheStorageModel model;
  std::int64_t fused_hbm_bytes = 0;  // of the table in plain HBM
  float load_factor = 0;
  float priority = 0;
};

// Divides `budget_bytes` of additional HBM among the tables by priority, and returns the new load
// factors. A cache gets at most the bytes of a full cache; the rest is divided again. A table that
// takes less HBM without a cache gets load factor 1.0 and gives back the difference.
// Source: EmbeddingOffloadScaleupProposer.allocate_budget,
// torchrec/distributed/planner/proposers.py.
std::vector<float> allocate_cache_budget(const std::vector<CachedTable>& tables,
                                         double budget_bytes);

// Returns the space in which best mode searches. For every table whose load factor best mode
// chooses, adds to `space` the missing options with a cache at each load factor of the table's set
// (core/embedding/load_factors.h). Returns `space` itself if there is no such table, or if the
// space was extended before. Tables are estimated in parallel. `cost_model`: null = Estimator.
// Errors: those of the cost model; kInvalidInput if a cost cannot be used; kStopped if the budget
// is interrupted.
Result<std::shared_ptr<const SearchSpace>> with_load_factors(
    std::shared_ptr<const SearchSpace> space, Executor& executor, const Budget& budget = {},
    const CostModel* cost_model = nullptr);

// Returns `plan` as a plan of a space from with_load_factors(), with the same ranks. A cache that
// the space lacks becomes the next smaller cache of the space. Empty if the space lacks any other
// option.
std::optional<Plan> on_load_factors(const std::shared_ptr<const SearchSpace>& space,
                                    const Plan& plan);

}  // namespace shardwright::embedding
