// The reports on plans for graphs of PyTorch's operators, as plain text.
#pragma once

#include <cstddef>
#include <string>

#include "core/operators/aten/aten_graph.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright {

// Totals with the bound and the memory, how parameters, inputs and outputs lie, and what every
// module takes; or why there is no plan. Modules that differ only in a number, as repeated blocks
// do, share a row if they are sharded alike.
std::string aten_plan_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                             const AtenPlanResult& result, std::size_t width);

// A row for each mesh, the fastest first.
std::string aten_sweep_report(const AtenSweep& sweep, std::size_t width);

}  // namespace shardwright
