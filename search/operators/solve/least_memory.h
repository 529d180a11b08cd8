// The least memory that any choice of a cost instance needs, for instances whose limits are too
// low.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"

namespace shardwright::operators {

struct LeastMemory {
  std::int64_t bytes = 0;   // no choice holds less at the time that it holds most
  bool reached = false;     // some choice holds no more
  bool impossible = false;  // no choice avoids what is forbidden, whatever it holds
};

// Looks at the first `num_time_points` limits, without keeping any; costs do not count, forbidden
// strategies and pairs do. Exact where one time point matters, unless the budget ends before; else
// a bound that is mostly reached.
LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget);

}  // namespace shardwright::operators
