// Divides bytes of HBM among caches, as scale-up does.
#pragma once

#include <cstdint>
#include <vector>

namespace shardwright::embedding {

// HBM of one table as an affine function of its cache load factor, in single precision:
// bytes = slope x load_factor + base.
struct CacheStorageModel {
  float slope = 0;
  float base = 0;

  double bytes(float load_factor) const { return static_cast<double>(slope * load_factor + base); }
};

// Fits the model to the bytes at load factors 0.1 and 0.9.
CacheStorageModel fit_cache_storage(std::int64_t low_bytes, std::int64_t high_bytes);

// One table that takes part in the division.
struct CachedTable {
  CacheStorageModel model;
  std::int64_t fused_hbm_bytes = 0;  // what the table takes without a cache, all in HBM
  float load_factor = 0;
  float priority = 0;
};

// The load factors after dividing `budget_bytes` more HBM by priority. A cache takes at most what a
// full cache needs; what is left over is divided again. A table whose cache would take more than
// the table itself gets load factor 1.0 and returns the difference.
// Source: EmbeddingOffloadScaleupProposer.allocate_budget,
// torchrec/distributed/planner/proposers.py.
std::vector<float> allocate_cache_budget(const std::vector<CachedTable>& tables,
                                         double budget_bytes);

}  // namespace shardwright::embedding
