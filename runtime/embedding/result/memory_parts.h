// What takes the memory of every rank.
#pragma once

#include <vector>

#include "core/embedding/evaluation/evaluate.h"
#include "core/embedding/problem/problem.h"
#include "runtime/embedding/result/plan_result.h"

namespace shardwright {

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

// By rank. Precondition: `evaluation` is that of a plan under this reservation.
std::vector<MemoryParts> memory_parts(const embedding::Problem& problem,
                                      const embedding::Reservation& reservation,
                                      const embedding::Evaluation& evaluation);

}  // namespace shardwright
