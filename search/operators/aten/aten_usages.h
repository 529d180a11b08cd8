// What the variables of a plan hold over time, under every strategy.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/operators/aten/aten_variables.h"

namespace shardwright::operators {

struct AtenUsages {
  std::vector<CostInstanceSpec::Usage> usages;
  std::uint32_t num_time_points = 0;  // that can decide a limit
};

// The bytes of held_tensors(). Precondition: views own what they move (AtenVariables::make).
AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states);

}  // namespace shardwright::operators
