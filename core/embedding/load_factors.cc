#include "core/embedding/load_factors.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
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

namespace {

using Options = std::vector<const ShardingOption*>;

// Returns true if every declared option with a cache occurs in `all` with each of the load factors.
bool is_complete(const Options& declared, const Options& all,
                 const std::vector<double>& load_factors) {
  return std::all_of(declared.begin(), declared.end(), [&](const ShardingOption* cached) {
    if (!has_cache(*cached)) return true;
    return std::all_of(load_factors.begin(), load_factors.end(), [&](double load_factor) {
      return std::any_of(all.begin(), all.end(), [&](const ShardingOption* option) {
        return is_rescaled(*option, *cached, load_factor);
      });
    });
  });
}

// Returns true if `added` is a declared option whose cache has one of the load factors.
bool is_of_set(const ShardingOption& added, const Options& declared,
               const std::vector<double>& load_factors) {
  return std::any_of(declared.begin(), declared.end(), [&](const ShardingOption* cached) {
    return has_cache(*cached) &&
           std::any_of(load_factors.begin(), load_factors.end(),
                       [&](double own) { return is_rescaled(added, *cached, own); });
  });
}

}  // namespace

bool has_cache(const ShardingOption& option) {
  return option.compute_kernel == ComputeKernel::kFusedUvmCaching;
}

std::vector<std::vector<const ShardingOption*>> options_by_table(
    const Problem& problem, std::span<const ShardingOption> options) {
  std::vector<Options> tables(problem.tables().size());
  for (const ShardingOption& option : options)
    tables[option.table.index()].push_back(&option);
  return tables;
}

bool is_rescaled(const ShardingOption& option, const ShardingOption& cached, double load_factor) {
  if (option.table != cached.table || option.sharding_type != cached.sharding_type ||
      !(option.layout == cached.layout || *option.layout == *cached.layout)) {
    return false;
  }
  if (load_factor >= 1) return option.compute_kernel == ComputeKernel::kFused;
  return has_cache(option) && option.load_factor == load_factor;
}

std::vector<TableLoadFactors> load_factors_of(const SearchSpace& space) {
  if (space.base() == nullptr) return {};
  return load_factors_to_choose(space.problem());
}

std::optional<std::string> check_load_factors(const SearchSpace& space,
                                              const std::vector<TableLoadFactors>& claimed) {
  const std::vector<TableLoadFactors> sets = load_factors_of(space);
  if (claimed != sets) return "it ranges over other load factors of caches than the problem";
  if (sets.empty()) return std::nullopt;
  std::vector<std::vector<double>> set_of(space.problem().tables().size());
  for (const TableLoadFactors& set : sets)
    set_of[set.table.index()] = set.values;
  const std::vector<Options> declared = options_by_table(space.problem(), space.base()->options());
  const std::vector<Options> all = options_by_table(space.problem(), space.options());
  for (const TableLoadFactors& set : sets) {
    if (!is_complete(declared[set.table.index()], all[set.table.index()], set.values))
      return "the search space lacks a load factor of table \"" +
             space.problem().table(set.table).name + "\"";
  }
  for (const ShardingOption& added : space.options().subspan(space.base()->size())) {
    const std::size_t table = added.table.index();
    if (!is_of_set(added, declared[table], set_of[table]))
      return "the search space has a cache of another load factor for table \"" +
             space.problem().table(added.table).name + "\"";
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
