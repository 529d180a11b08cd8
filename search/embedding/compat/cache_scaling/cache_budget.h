// How scale-up divides bytes of HBM among caches.
#pragma once

#include <cstdint>
#include <vector>

namespace shardwright::embedding {

// HBM of one table as an affine function of its cache load factor, in single precision:
// bytes = slope x load_factor + base.
struct CacheStorageModel {
  float slope = 0;
  float base = 0;

  double bytes(float load_factor) const {
    return static_cast<double>(slope * load_factor + base);
  }
};

// Bytes at load factors 0.1 and 0.9 give the model.
CacheStorageModel fit_cache_storage(std::int64_t low_bytes, std::int64_t high_bytes);

// One table that takes part in the division.
struct CachedTable {
  CacheStorageModel model;
  std::int64_t fused_hbm_bytes = 0;  // what the table takes without a cache, all in HBM
  float load_factor = 0;
  float priority = 0;
};

// New load factors after `budget_bytes` more HBM: shared out by priority, capped at a full cache,
// what is left over shared out again. Tables whose cache would take more than the table itself are
// filled (1.0) and give the difference back.
// Source: EmbeddingOffloadScaleupProposer.allocate_budget, torchrec/distributed/planner/proposers.py.
std::vector<float> allocate_cache_budget(const std::vector<CachedTable>& tables,
                                         double budget_bytes);

}  // namespace shardwright::embedding
