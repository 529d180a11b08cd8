// Writes plans for graphs of PyTorch's operators.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright {

// Writes a row per node and output of the graph if there is a plan, otherwise why there is none.
void write_aten_plan(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                     const AtenPlanResult& result, const TextSink& sink);

// Writes the whole problem in the format of the IOPDDL contest, which `operators solve` reads.
// Costs are microseconds times 10^9, rounded; 10^18 means forbidden.
void write_aten_instance(const operators::AtenGraph& graph, const operators::CostInstance& instance,
                         const TextSink& sink);

// Writes the meshes from the fastest to the slowest, then the meshes without a plan.
void write_aten_sweep(const AtenSweep& sweep, const TextSink& sink);

}  // namespace shardwright
