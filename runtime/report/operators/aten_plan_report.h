// Rows of a report whose paths differ only in a number become one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operators/aten/evaluate_plan.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/report/text/format.h"

namespace shardwright {

// A dotted path without its first part that is a number.
struct FoldedPath {
  std::string before;  // "layers."
  std::string after;   // ".attention.weight"
  bool has_number = false;
  std::uint32_t number = 0;
};
FoldedPath fold_path(std::string_view path);

// Joins equal rows whose paths differ in one number, such as "layers.0.weight" and
// "layers.1.weight". Rows keep the order of appearance.
// Thread safety: one thread at a time.
template <class Row>
class FoldedRows {
 public:
  void add(std::string_view path, Row row) {
    const FoldedPath folded = fold_path(path);
    for (Group& group : groups_) {
      if (!folded.has_number || !group.path.has_number || !(group.row == row)) continue;
      if (group.path.before != folded.before || group.path.after != folded.after) continue;
      group.numbers.push_back(folded.number);
      return;
    }
    groups_.push_back({folded, std::move(row), {folded.number}});
  }

  // Calls visit(path, row, number of rows).
  template <class Visit>
  void for_each(const Visit& visit) const {
    constexpr std::size_t kWidth = 16;
    for (const Group& group : groups_) {
      std::vector<std::uint32_t> numbers = group.numbers;
      std::sort(numbers.begin(), numbers.end());
      numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      const std::string number =
          group.path.has_number ? format_ranges(numbers, kWidth) : std::string();
      visit(group.path.before + number + group.path.after, group.row, group.numbers.size());
    }
  }

 private:
  struct Group {
    FoldedPath path;
    Row row;
    std::vector<std::uint32_t> numbers;
  };
  std::vector<Group> groups_;
};

// The costs of a module on one device in one training step.
// Thread safety: a value.
struct ModuleCosts {
  std::size_t operators = 0;
  double forward_us = 0;  // of operators
  double backward_us = 0;
  double move_us = 0;     // of operators' inputs and of graph outputs
  std::size_t moves = 0;  // of inputs and graph outputs
  std::int64_t sent_bytes = 0;
  std::int64_t parameter_bytes = 0;  // parameters and buffers

  double us() const { return forward_us + backward_us + move_us; }
  ModuleCosts& operator+=(const ModuleCosts& other);
  friend auto operator<=>(const ModuleCosts&, const ModuleCosts&) = default;
};

// A module, or several modules that differ only in their numbers.
// Thread safety: a value.
struct ReportedModule {
  std::string name;                    // the last part of the path; "" is the model
  std::vector<std::uint32_t> numbers;  // of the equal modules, ascending; empty for one module
  ModuleCosts costs;                   // of one module, including the modules in it
  std::size_t path_length = 0;         // length of the first module's path in characters
  std::vector<std::uint32_t> tensors;  // placeholders that belong to the first module itself
  std::vector<std::uint32_t> operators;
  std::vector<ReportedModule> modules;
};

// A parameter or buffer belongs to the innermost module on its path that has operators; inputs and
// tangents belong to the model. Siblings whose names are numbers become one module if their
// operators, times, shapes and placements are equal. A module without a number that contains
// nothing but one other module is joined with that module. `moves`: aten_moves() of the plan.
// Precondition: the result has a plan.
ReportedModule make_module_tree(const operators::AtenGraph& graph, const operators::AtenPlan& plan,
                                std::span<const operators::AtenMove> moves);

// Thread safety: a value.
struct MovedTensors {
  std::string tensor;  // a name in the model, or the operator that made it
  std::string module;  // of that operator
  std::string consumer;
  std::string consumer_module;
  bool backward = false;
  operators::AtenTensor whole;
  redistribution::Placement source;
  redistribution::Placement target;
  redistribution::Path path;
  double us = 0;  // of one move
  std::int64_t sent_bytes = 0;
  std::size_t count = 0;
};

// Groups equal moves into rows; a path has the numbers of the row: "layers.0-31.mlp". Rows are in
// descending order of their total time. `moves`: aten_moves() of the plan.
std::vector<MovedTensors> moved_tensors(const operators::AtenGraph& graph,
                                        const operators::AtenPlan& plan,
                                        std::span<const operators::AtenMove> moves);

// What a device holds from a time on. An entry for several time points shows the fullest.
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
  std::int64_t bytes = 0;  // of one tensor
  std::size_t count = 0;

  // Ignores name and count.
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
  std::vector<ReportedHeld> held;  // by the row's bytes, descending; at most kMostHeld
  std::size_t held_rows = 0;       // number of rows before the cut
};

// Empty without a plan. `moves`: aten_moves() of the plan.
AtenPlanReport make_aten_plan_report(const operators::AtenGraph& graph,
                                     const PlanAtenOptions& options, const AtenPlanResult& result,
                                     std::span<const operators::AtenMove> moves);

}  // namespace shardwright
