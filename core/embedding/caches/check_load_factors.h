// Checks over which load factors of caches a search space and a certificate range.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/caches/load_factors.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// The load factors that a proof about `space` ranges over, beside those that were declared: none,
// unless the space was extended by them.
std::vector<TableLoadFactors> load_factors_of(const SearchSpace& space);

// Returns what is wrong, or nothing if `claimed` is load_factors_of(space) and every declared
// option with a cache has, for each of its table's load factors, an option with the same shards in
// the space, and if the space holds no other options beyond the declared ones. A load factor of 1
// stands for an option in plain HBM. The sets are those of the problem; costs are not looked at.
// O(caches of a table x its load factors x its options) for each table.
std::optional<std::string> check_load_factors(const SearchSpace& space,
                                              const std::vector<TableLoadFactors>& claimed);

// Returns true if the option keeps a part of its table in HBM: the kernel fused_uvm_caching.
bool has_cache(const ShardingOption& option);

// The options of every table, in the order of `options`. They stay where they are.
std::vector<std::vector<const ShardingOption*>> options_by_table(
    const Problem& problem, std::span<const ShardingOption> options);

// Returns true if `option` is `cached` with its cache at `load_factor`, where 1 means plain HBM.
bool is_rescaled(const ShardingOption& option, const ShardingOption& cached, double load_factor);

}  // namespace shardwright::embedding
