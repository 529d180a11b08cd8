// Reports on plans for PyTorch models. Rows whose paths differ only in one number are joined.
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

// A dotted path, divided at its first part that is a number.
struct FoldedPath {
  std::string before;  // such as "layers."
  std::string after;   // such as ".attention.weight"
  bool has_number = false;
  std::uint32_t number = 0;
};
FoldedPath fold_path(std::string_view path);

// Joins equal rows whose paths differ in one number, such as "layers.0.weight" and
// "layers.1.weight". Rows keep the order of first appearance.
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

  // Calls visit(path, row, number of joined rows).
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

// Costs of a module on one device in one training step.
// Thread safety: a value.
struct ModuleCosts {
  std::size_t operators = 0;
  double forward_us = 0;  // of operators
  double backward_us = 0;
  double move_us = 0;     // of moving operators' inputs and graph outputs
  std::size_t moves = 0;  // number of these moves
  std::int64_t sent_bytes = 0;
  std::int64_t parameter_bytes = 0;  // of parameters and buffers

  double us() const { return forward_us + backward_us + move_us; }
  ModuleCosts& operator+=(const ModuleCosts& other);
  friend auto operator<=>(const ModuleCosts&, const ModuleCosts&) = default;
};

// A module, or several equal modules whose names differ only in a number.
// Thread safety: a value.
struct ReportedModule {
  std::string name;                    // last part of the path; "" for the model
  std::vector<std::uint32_t> numbers;  // of equal modules, ascending; empty for one module
  ModuleCosts costs;                   // of one module, with its inner modules
  std::size_t path_length = 0;         // characters in the first module's path
  std::vector<std::uint32_t> tensors;  // placeholders of the first module itself
  std::vector<std::uint32_t> operators;
  std::vector<ReportedModule> modules;
};

// Returns the tree of modules. A parameter or buffer belongs to the innermost module on its path
// that has operators; inputs and tangents belong to the model. Siblings whose names are numbers
// become one module if their operators, times, shapes and placements are equal. A module that has
// no number and contains only one module is joined with that module. `moves` is the result of
// aten_moves(). Precondition: the result has a plan.
ReportedModule make_module_tree(const operators::AtenGraph& graph, const operators::AtenPlan& plan,
                                std::span<const operators::AtenMove> moves);

// Equal moves of tensors.
// Thread safety: a value.
struct MovedTensors {
  std::string tensor;  // name in the model, or operator that makes it
  std::string module;  // module of that operator
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

// Groups equal moves into rows, in descending order of the row's total time. The paths of a row
// have its numbers, such as "layers.0-31.mlp". `moves` is the result of aten_moves().
std::vector<MovedTensors> moved_tensors(const operators::AtenGraph& graph,
                                        const operators::AtenPlan& plan,
                                        std::span<const operators::AtenMove> moves);

// The memory that a device holds from a time on. An entry for several time points has the largest.
// Thread safety: a value.
struct ReportedMemory {
  double us = 0;  // since the step began
  operators::AtenMemory memory;
  std::uint32_t time_point = 0;
};

// A tensor that a device holds at the peak. Equal tensors of repeated blocks share a row.
// Thread safety: a value.
struct ReportedHeld {
  std::string name;  // name in the model, or operator and module
  std::string kind;  // such as "parameter" or "activation"
  operators::AtenTensor whole;
  operators::MaybePlacement placement;
  std::int64_t bytes = 0;  // of one tensor
  std::size_t count = 0;

  // Ignores `name` and `count`.
  friend bool operator==(const ReportedHeld& a, const ReportedHeld& b) {
    return a.kind == b.kind && a.whole == b.whole && a.placement == b.placement &&
           a.bytes == b.bytes;
  }
};

// A plan for pages. Thread safety: a value.
struct AtenPlanReport {
  static constexpr std::size_t kMostMemoryPoints = 1024;
  static constexpr std::size_t kMostHeld = 40;

  ReportedModule model;
  std::vector<MovedTensors> moves;
  std::vector<ReportedMemory> memory;  // ascending by time; one is the peak
  std::optional<double> backward_at_us;
  std::vector<ReportedHeld> held;  // descending by bytes of the row; at most kMostHeld
  std::size_t held_rows = 0;       // number of rows before cutting
};

// Returns an empty report if there is no plan. `moves` is the result of aten_moves().
AtenPlanReport make_aten_plan_report(const operators::AtenGraph& graph,
                                     const PlanAtenOptions& options, const AtenPlanResult& result,
                                     std::span<const operators::AtenMove> moves);

}  // namespace shardwright
