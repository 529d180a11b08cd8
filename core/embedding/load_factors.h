// The load factors of caches that best mode chooses from.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// The load factors of tables for which the user lists none, as cached rows / rows. 1 stands for
// plain HBM: the table has no cache. The others are the preferred numbers E12 (IEC 60063), so a
// step is at most 1.25 times the one before: README.md says why.
inline constexpr std::array<double, 25> kLoadFactorLadder{
    0.01, 0.012, 0.015, 0.018, 0.022, 0.027, 0.033, 0.039, 0.047, 0.056, 0.068, 0.082, 0.1,
    0.12, 0.15,  0.18,  0.22,  0.27,  0.33,  0.39,  0.47,  0.56,  0.68,  0.82,  1.0};

// The load factors of one table.
struct TableLoadFactors {
  TableId table;
  std::vector<double> values;  // ascending, above 0, at most 1

  friend bool operator==(const TableLoadFactors&, const TableLoadFactors&) = default;
};

// The load factors that best mode may give the table beside its own. Empty if it chooses none: see
// README.md.
std::vector<double> load_factors_to_choose(const Problem& problem, const Table& table);

// The same for all tables that have any, by table. O(tables).
std::vector<TableLoadFactors> load_factors_to_choose(const Problem& problem);

// The load factors that a proof about `space` covers beside the declared ones: none, unless the
// space was extended by them.
std::vector<TableLoadFactors> load_factors_of(const SearchSpace& space);

// Returns what is wrong, or nothing if all of this holds: `claimed` is load_factors_of(space); for
// every declared option with a cache and each load factor of its table, the space has an option
// with the same shards; the space adds no other options to the declared ones. A load factor of 1
// stands for an option in plain HBM. The load factors follow from the problem; costs are not looked
// at. O(caches of a table x its load factors x its options) for each table.
std::optional<std::string> check_load_factors(const SearchSpace& space,
                                              const std::vector<TableLoadFactors>& claimed);

// Returns true if the option keeps a part of its table in HBM: the kernel fused_uvm_caching.
bool has_cache(const ShardingOption& option);

// Returns pointers to the options of every table, in the order of `options`.
std::vector<std::vector<const ShardingOption*>> options_by_table(
    const Problem& problem, std::span<const ShardingOption> options);

// Returns true if `option` is `cached` with its cache at `load_factor`, where 1 means plain HBM.
bool is_rescaled(const ShardingOption& option, const ShardingOption& cached, double load_factor);

}  // namespace shardwright::embedding
