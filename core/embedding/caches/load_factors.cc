#include "core/embedding/caches/load_factors.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace shardwright::embedding {
namespace {

std::vector<double> ladder_above(double load_factor) {
  const auto first =
      std::upper_bound(kLoadFactorLadder.begin(), kLoadFactorLadder.end(), load_factor);
  return {first, kLoadFactorLadder.end()};
}

bool has_scaleup(const Problem& problem) {
  const auto& proposers = problem.spec().proposers;
  return std::any_of(proposers.begin(), proposers.end(), [](const ProposerSpec& proposer) {
    return proposer.type == ProposerSpec::Type::kScaleup;
  });
}

// Source: EmbeddingOffloadScaleupProposer.get_scalable_sharding_options,
// torchrec/distributed/planner/proposers.py.
bool is_scaled_up(const CacheParams& cache) {
  if (!cache.stats || !cache.load_factor) return false;
  return cache.stats->cacheability * cache.stats->expected_lookups * *cache.load_factor > 0;
}

std::vector<double> sorted(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::vector<double> load_factors_of(const Table& table, bool with_scaleup) {
  if (!table.constraints || !table.constraints->cache_params) return {};
  const CacheParams& cache = *table.constraints->cache_params;
  if (cache.load_factors)
    return cache.load_factors->empty() ? ladder_above(0) : sorted(*cache.load_factors);
  if (with_scaleup && is_scaled_up(cache)) return ladder_above(*cache.load_factor);
  return {};
}

}  // namespace

std::vector<double> load_factors_to_choose(const Problem& problem, const Table& table) {
  return load_factors_of(table, has_scaleup(problem));
}

std::vector<TableLoadFactors> load_factors_to_choose(const Problem& problem) {
  const bool with_scaleup = has_scaleup(problem);
  std::vector<TableLoadFactors> all;
  for (std::size_t i = 0; i < problem.tables().size(); ++i) {
    std::vector<double> own = load_factors_of(problem.tables()[i], with_scaleup);
    if (!own.empty()) all.push_back({TableId(i), std::move(own)});
  }
  return all;
}

}  // namespace shardwright::embedding
