// The load factors of caches (cached rows / rows of the table) from which best mode chooses.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// The load factors of tables for which the user lists none. The load factor 1 stands for plain HBM:
// the table has no cache. The other values are the preferred numbers E12 (IEC 60063), so a value is
// at most 1.25 times the one before. README.md says why.
inline constexpr std::array<double, 25> kLoadFactorLadder{
    0.01, 0.012, 0.015, 0.018, 0.022, 0.027, 0.033, 0.039, 0.047, 0.056, 0.068, 0.082, 0.1,
    0.12, 0.15,  0.18,  0.22,  0.27,  0.33,  0.39,  0.47,  0.56,  0.68,  0.82,  1.0};

// The load factors that best mode may give one table.
struct TableLoadFactors {
  TableId table;
  std::vector<double> values;  // ascending, in (0, 1]

  friend bool operator==(const TableLoadFactors&, const TableLoadFactors&) = default;
};

// Returns the load factors that best mode may give the table beside its declared one. The list is
// empty if best mode does not choose the load factor of this table; README.md says when.
std::vector<double> load_factors_to_choose(const Problem& problem, const Table& table);

// Returns the load factors of all tables for which best mode chooses, by table. O(tables).
std::vector<TableLoadFactors> load_factors_to_choose(const Problem& problem);

// Returns the load factors that a proof about `space` covers beside the declared ones. The list is
// empty if `space` extends no other space.
std::vector<TableLoadFactors> load_factors_of(const SearchSpace& space);

// Checks that the space has exactly the options that its load factors imply. Returns what is wrong,
// or nothing if the following holds. `claimed` equals load_factors_of(space). For every declared
// option with a cache and each load factor of its table, the space has an option with the same
// shards. The space adds no further options to the declared ones. Does not check costs. O(caches of
// a table x its load factors x its options) for each table.
std::optional<std::string> check_load_factors(const SearchSpace& space,
                                              const std::vector<TableLoadFactors>& claimed);

// Returns true if the option keeps a part of its table in HBM: its kernel is fused_uvm_caching.
bool has_cache(const ShardingOption& option);

// Returns pointers into `options`, indexed by table, in the order of `options`.
std::vector<std::vector<const ShardingOption*>> options_by_table(
    const Problem& problem, std::span<const ShardingOption> options);

// Returns true if `option` is `cached` with its cache at `load_factor`, where 1 means plain HBM.
bool is_rescaled(const ShardingOption& option, const ShardingOption& cached, double load_factor);

}  // namespace shardwright::embedding
