// The least memory that any choice of a cost instance needs, for instances whose limits are too
// low.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"

namespace shardwright::operators {

struct LeastMemory {
  std::int64_t bytes = 0;              // no choice has a lower peak
  bool reached = false;                // some choice has this peak
  std::optional<std::int64_t> enough;  // the peak of the lightest choice that was found
  bool impossible = false;             // every choice takes something forbidden
};

// The least peak over the first `num_time_points` time points, without any limit. Costs do not
// count, but forbidden strategies and pairs stay forbidden. Exact for one time point unless the
// budget ends first; otherwise a lower bound that is mostly reached.
LeastMemory least_memory(const CostInstance& instance, std::size_t num_time_points,
                         Executor& executor, Budget& budget);

}  // namespace shardwright::operators
