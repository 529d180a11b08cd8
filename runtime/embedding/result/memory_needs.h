// What tables need of the ranks' memory at the least, against what ranks have.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/result/plan_result.h"

namespace shardwright {

// Least of any option, each number for itself: the option of least HBM may be another than that of
// least memory altogether. Sums over the shards of an option.
struct TableNeed {
  Bytes hbm;
  Bytes total;               // HBM and DDR together
  bool fits = true;          // an option has no shard that is too large for every rank
  bool has_options = false;  // without, hbm and total are 0
};

struct MemoryNeeds {
  std::vector<TableNeed> tables;  // as the problem lists them; empty where there are no options
  Bytes hbm;                      // sums over tables
  Bytes total;
  embedding::Storage available;  // of all ranks, after the reservation where it succeeded
  embedding::Storage capacity;   // of all ranks
};

// `space` and `reservation` may be absent. No plan exists where `hbm` or `total` exceeds what is
// available; the converse does not hold. O(options x distinct ranks).
MemoryNeeds memory_needs(const embedding::Problem& problem, const embedding::SearchSpace* space,
                         const Reservation* reservation);

}  // namespace shardwright
