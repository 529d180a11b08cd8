#include "search/embedding/compat/cache_scaling/cache_budget.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::embedding {
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
  // Finds the tables whose caches are not full; they take part in this pass. Returns false if their
  // priorities sum to zero, which can happen in single precision.
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
  std::vector<double> empty_, full_, cache_;  // bytes: with no cache, a full cache, of the cache
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

}  // namespace shardwright::embedding
