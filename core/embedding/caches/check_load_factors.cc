#include "core/embedding/caches/check_load_factors.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace shardwright::embedding {
namespace {

using Options = std::vector<const ShardingOption*>;

// Returns true if every declared cache has all sizes of the set.
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

// Returns true if `added` is a declared option with another cache, of a size in the set.
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
