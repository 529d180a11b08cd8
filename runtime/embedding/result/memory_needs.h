// The least memory that tables need, against the memory that ranks have.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/result/plan_result.h"

namespace shardwright {

// Minima over the options of a table, each by itself: the option of least HBM need not be the
// option of least memory. An option counts the sum over its shards.
struct TableNeed {
  Bytes hbm;
  Bytes total;               // all tiers together
  bool fits = true;          // every shard of some option fits on some rank
  bool has_options = false;  // otherwise hbm and total are 0
};

struct MemoryNeeds {
  std::vector<TableNeed> tables;  // in the order of the problem; empty without options
  Bytes hbm;                      // sums over tables
  Bytes total;
  embedding::Storage available;  // of all ranks, after the reservation if it succeeded
  embedding::Storage capacity;   // of all ranks
};

// `space` and `reservation` may be null. No plan exists if `hbm` or `total` exceeds what is
// available; the converse does not hold. O(options x distinct ranks).
MemoryNeeds memory_needs(const embedding::Problem& problem, const embedding::SearchSpace* space,
                         const embedding::Reservation* reservation);

}  // namespace shardwright
