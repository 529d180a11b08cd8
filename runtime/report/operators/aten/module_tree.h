// The modules of a traced model as a tree, with what their operators take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/operators/plan_aten.h"

namespace shardwright {

// Of a device, in one step.
// Thread safety: a value.
struct ModuleCosts {
  std::size_t operators = 0;
  double forward_us = 0;  // of operators
  double backward_us = 0;
  double move_us = 0;     // of tensors that operators of the module take, or that leave the graph
  std::size_t moves = 0;  // of these tensors
  std::int64_t sent_bytes = 0;
  std::int64_t parameter_bytes = 0;  // and of buffers

  double us() const { return forward_us + backward_us + move_us; }
  ModuleCosts& operator+=(const ModuleCosts& other);
  friend auto operator<=>(const ModuleCosts&, const ModuleCosts&) = default;
};

// A module, or several that are equal but for their numbers.
// Thread safety: a value.
struct ReportedModule {
  std::string name;                    // the last part of the path; "" is the model
  std::vector<std::uint32_t> numbers;  // ascending, of the equal ones; empty if there is only one
  ModuleCosts costs;                   // of one, with the modules in it
  std::size_t path_length = 0;         // of the first one, in letters
  std::vector<std::uint32_t> tensors;  // own placeholders of the first one
  std::vector<std::uint32_t> operators;
  std::vector<ReportedModule> modules;
};

// Parameters and buffers belong to the innermost module in whose path they are and that has
// operators; inputs and tangents to the model. Siblings that are numbers are one if they have
// equal operators, times, shapes and placements. A module without a number that
// holds only one other is joined with it. `moves`: those of the plan. Precondition: the result has
// a plan.
ReportedModule make_module_tree(const operators::AtenGraph& graph, const operators::AtenPlan& plan,
                                std::span<const operators::AtenMove> moves);

}  // namespace shardwright
