// The report on a plan for a graph of PyTorch operators, as the JSON of a page.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/report/operators/aten_plan_report.h"

namespace shardwright {

// Writes a plan. Frequent records are lists:
// - tensor: [name, role, shape, placement, bytes]
// - operator: [name, is backward, shape, placement, us, us of moves]
// - costs: [operators, forward us, backward us, us of moves, moves, bytes sent, parameter bytes]
// - memory: [us, bytes of parameters, optimizer states, gradients, inputs, activations, moved]
// - step: [kind, text, us]
// - held tensor: [name, kind, shape, placement, bytes, count]
// Operators are left out if a page cannot show so many. The text has no "<". Cost: O(bytes).
void write_aten_plan_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                            const AtenPlanResult& result, const AtenPlanReport& report,
                            const TextSink& sink);

}  // namespace shardwright
