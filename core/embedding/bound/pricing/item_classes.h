// The items of a rank's knapsack: in which ways the rank can hold shards of a table.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound/pricing/rank_capacity.h"

namespace shardwright::embedding {

// Relative error of a sum of loads that was rounded down term by term, and of a quotient.
inline constexpr double kLoadSumSlack = 1e-9;

struct RankItem {
  ShardSet shards;
  double reduced_value = 0;
};

// `copies` identical tables, each of which the rank holds as one of the items or not at all.
struct RankItemClass {
  std::vector<RankItem> items;
  double best_reduced_value = 0;  // of one copy; never negative
  ShardSet max_use;               // of each resource, by any item
  std::uint32_t copies = 1;
  std::uint32_t multiplicity_bound = 1;  // this many copies never fit
};

// Adds one option of the table: every combination of up to counts[i] shards of runs[i] that fits.
// Returns false if there are too many of them.
bool add_items(const RankCapacity& capacity, const std::vector<ShardSet>& runs,
               const std::vector<std::uint32_t>& counts, RankItemClass& into);

// Makes one class of all classes with the same items, drops empty ones, and sets the multiplicity
// bounds.
void merge_identical(const RankCapacity& capacity, std::vector<RankItemClass>& classes);

}  // namespace shardwright::embedding
