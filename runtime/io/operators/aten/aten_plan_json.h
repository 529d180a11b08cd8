// Writes plans for graphs of PyTorch's operators.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright {

// One row per node and output of the graph, if there is a plan; otherwise why there is none.
void write_aten_plan(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                     const AtenPlanResult& result, const TextSink& sink);

}  // namespace shardwright
