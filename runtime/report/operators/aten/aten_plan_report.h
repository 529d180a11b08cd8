// The numbers of a page on a plan for a graph of PyTorch's operators, before they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/aten/evaluate_plan.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/report/operators/aten/module_tree.h"
#include "runtime/report/operators/aten/moved_tensors.h"

namespace shardwright {

// What a device holds from a time on; of time points that are put together, the one that holds
// most.
// Thread safety: a value.
struct ReportedMemory {
  double us = 0;  // since the step began
  operators::AtenMemory memory;
  std::uint32_t time_point = 0;
};

// Tensors that a device holds at the peak, with equal ones of repeated blocks as one row.
// Thread safety: a value.
struct ReportedHeld {
  std::string name;  // a name in the model, or an operator and its module
  std::string kind;  // "parameter", "optimizer states", "gradient", "activation", ...
  operators::AtenTensor whole;
  operators::MaybePlacement placement;
  std::int64_t bytes = 0;  // of one
  std::size_t count = 0;

  // But for the name and how many there are.
  friend bool operator==(const ReportedHeld& a, const ReportedHeld& b) {
    return a.kind == b.kind && a.whole == b.whole && a.placement == b.placement &&
           a.bytes == b.bytes;
  }
};

// A plan as pages show it. Thread safety: a value.
struct AtenPlanReport {
  static constexpr std::size_t kMostMemoryPoints = 1024;
  static constexpr std::size_t kMostHeld = 40;

  ReportedModule model;
  std::vector<MovedTensors> moves;
  std::vector<ReportedMemory> memory;  // by time; one of them is the peak
  std::optional<double> backward_at_us;
  std::vector<ReportedHeld> held;  // the most bytes of a row first, at most kMostHeld
  std::size_t held_rows = 0;       // before that cut
};

// Without a plan, nothing. `moves`: those of the plan.
AtenPlanReport make_aten_plan_report(const operators::AtenGraph& graph,
                                     const PlanAtenOptions& options, const AtenPlanResult& result,
                                     std::span<const operators::AtenMove> moves);

}  // namespace shardwright
