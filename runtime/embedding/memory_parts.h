// The least memory that tables need, against the memory that ranks have.
#pragma once

#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Minima over the options of a table, each taken separately: the option of least HBM need not be
// the option of least memory. An option counts the sum over its shards.
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

// The memory of one rank. capacity = reservation + reserved + margin + tables + free.
struct MemoryParts {
  embedding::Storage capacity;
  embedding::Storage reservation;  // dense modules, inputs and the reserved percentage
  embedding::Storage reserved;     // `reserved_memory`
  embedding::Storage margin;       // `memory_margin`
  embedding::Storage tables;       // of the plan, as estimated
  embedding::Storage free;         // below 0 if the plan does not fit

  // What the rank holds at its peak.
  embedding::Storage peak() const { return reservation + reserved + tables; }
  friend bool operator==(const MemoryParts&, const MemoryParts&) = default;
};

// Returns the parts by rank. Precondition: `evaluation` is that of a plan under this reservation.
std::vector<MemoryParts> memory_parts(const embedding::Problem& problem,
                                      const embedding::Reservation& reservation,
                                      const embedding::Evaluation& evaluation);

}  // namespace shardwright
