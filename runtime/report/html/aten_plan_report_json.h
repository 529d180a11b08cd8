// The report on a plan for a graph of PyTorch's operators, as the JSON of the HTML page.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/operators/aten_plan_report.h"

namespace shardwright {

// Frequent records are lists instead of objects. A tensor is [name, role, shape, placement, bytes],
// an operator [name, is backward, shape, placement, us, us of moves], costs are [operators, forward
// us, backward us, us of moves, moves, bytes sent, bytes of parameters], a point of memory is [us,
// parameters, optimizer states, gradients, inputs, activations], a step [kind, text, us], a held
// tensor [name, kind, shape, placement, bytes, count]. Operators are left out where modules have
// too many for a page. The text has no "<". O(bytes).
void write_aten_plan_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                            const AtenPlanResult& result, const AtenPlanReport& report,
                            const TextSink& sink);

}  // namespace shardwright
