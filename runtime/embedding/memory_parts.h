// Compares the least memory that tables need with the memory that ranks have.
#pragma once

#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Minima over the options of a table, of the sum over an option's shards. Each minimum is taken
// separately: the option with the least HBM may need more memory in total than another option.
struct TableNeed {
  Bytes hbm;
  Bytes total;               // all tiers together
  bool fits = true;          // an option has a rank with room for each shard
  bool has_options = false;  // if false, hbm and total are 0
};

struct MemoryNeeds {
  std::vector<TableNeed> tables;  // in the problem's order; empty without a space
  Bytes hbm;                      // sums over tables
  Bytes total;
  embedding::Storage available;  // of all ranks; without the reservation if it failed
  embedding::Storage capacity;   // of all ranks
};

// `space` and `reservation` may be null. If `hbm` or `total` exceeds `available`, no plan exists;
// if neither does, a plan may still not exist. Cost: O(options x distinct ranks).
MemoryNeeds memory_needs(const embedding::Problem& problem, const embedding::SearchSpace* space,
                         const embedding::Reservation* reservation);

// The parts of one rank's memory: capacity = reservation + reserved + margin + tables + free.
struct MemoryParts {
  embedding::Storage capacity;
  embedding::Storage reservation;  // dense modules, inputs and the reserved percentage
  embedding::Storage reserved;     // `reserved_memory`
  embedding::Storage margin;       // `memory_margin`
  embedding::Storage tables;       // of the plan, as estimated
  embedding::Storage free;         // below 0 if the plan does not fit

  // The memory that the rank holds at its peak.
  embedding::Storage peak() const { return reservation + reserved + tables; }
  friend bool operator==(const MemoryParts&, const MemoryParts&) = default;
};

// Returns one entry per rank. Precondition: `evaluation` is that of a plan under this reservation.
std::vector<MemoryParts> memory_parts(const embedding::Problem& problem,
                                      const embedding::Reservation& reservation,
                                      const embedding::Evaluation& evaluation);

}  // namespace shardwright
