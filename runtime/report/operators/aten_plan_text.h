// Words and text reports for plans of graphs of PyTorch operators.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/aten_plan.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/operators/plan_aten.h"

namespace shardwright {

std::string mesh_text(const redistribution::MeshShape& mesh);     // "4x2"
std::string shape_text(const operators::AtenTensor& tensor);      // "64x32", "scalar"
std::string_view type_text(const operators::AtenTensor& tensor);  // "bfloat16"
std::string_view operator_text(const operators::AtenNode& node);  // "mm", "add.Tensor"
std::string_view role_text(operators::AtenRole role);             // "parameter"; "" for operators
std::string_view module_text(const operators::AtenNode& node);    // "(no module)" if none

// Returns one word per mesh axis, such as "S0 R"; "-" without a placement. P is any reduction.
std::string placement_text(const operators::MaybePlacement& placement, std::size_t num_axes);

// Returns one sentence that says what is known of the plan, or why there is none.
std::string outcome_text(const AtenPlanResult& result);

// Returns the operator at the time point, or "the end".
std::string time_point_text(const operators::AtenGraph& graph, std::size_t time_point);

// Shows totals with bound and memory, the placements of parameters, inputs and outputs, and the
// costs of every module; or says why there is no plan. Modules whose paths differ only in a number,
// as those of repeated blocks, share a row if they are sharded alike.
std::string aten_plan_report(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                             const AtenPlanResult& result, std::size_t width);

// Returns a row per mesh, in ascending order of time.
std::string aten_sweep_report(const MeshSweep& sweep, std::size_t width);

}  // namespace shardwright
