#include "runtime/report/operators/aten_plan_text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/report/operators/aten_plan_report.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using namespace operators;

std::string joined(const redistribution::Shape& extents) {
  std::string text;
  for (const std::int64_t extent : extents)
    text += (text.empty() ? "" : "x") + std::to_string(extent);
  return text;
}

std::string axis_text(const redistribution::AxisPlacement& placement) {
  if (placement.is_replicate()) return "R";
  if (placement.is_shard()) return "S" + std::to_string(placement.dim);
  return "P";
}

}  // namespace

std::string mesh_text(const redistribution::MeshShape& mesh) {
  std::string text;
  for (const std::int64_t devices : mesh)
    text += (text.empty() ? "" : "x") + std::to_string(devices);
  return text;
}

std::string shape_text(const AtenTensor& tensor) {
  return tensor.shape.empty() ? "scalar" : joined(tensor.shape);
}

std::string_view type_text(const AtenTensor& tensor) {
  return names_of(tensor.type)[static_cast<std::size_t>(tensor.type)];
}

std::string_view operator_text(const AtenNode& node) {
  constexpr std::string_view kLibrary = "aten.", kOverload = ".default";
  std::string_view text = node.op;
  if (text.starts_with(kLibrary)) text.remove_prefix(kLibrary.size());
  if (text.ends_with(kOverload)) text.remove_suffix(kOverload.size());
  return text;
}

std::string_view role_text(AtenRole role) {
  constexpr std::array<std::string_view, 5> kNames{"", "parameter", "buffer", "input", "tangent"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view module_text(const AtenNode& node) {
  return node.module.empty() ? std::string_view("(no module)") : std::string_view(node.module);
}

std::string placement_text(const MaybePlacement& placement, std::size_t num_axes) {
  if (!placement) return "-";
  std::string text;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    text += (text.empty() ? "" : " ") + axis_text(placement->on(axis));
  return text;
}

namespace {

std::string percent_text(double share) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.2g %%", 100 * share);
  return buffer.data();
}

}  // namespace

std::string outcome_text(const AtenPlanResult& result) {
  switch (result.status) {
    case SolveStatus::kOptimal:
      return "Optimal: no plan takes less time.";
    case SolveStatus::kWithinGap:
      return "Within the gap: no plan takes less time by more than " +
             percent_text(1 - result.lower_bound_us / result.evaluation.total_us()) + ".";
    case SolveStatus::kFeasible:
      return "Stopped before the proof that no plan takes less time.";
    case SolveStatus::kInfeasible:
      return result.shortage ? "No plan fits: " + shortage_text(*result.shortage) + "."
                             : "No plan satisfies the placements that were asked for.";
    case SolveStatus::kUnknown:
      return "Stopped before any plan was found" +
             (result.shortage ? ": " + shortage_text(*result.shortage) : "") + ".";
  }
  return "";
}

std::string time_point_text(const AtenGraph& graph, std::size_t time_point) {
  return time_point < graph.size() ? graph[time_point].name : "the end";
}

namespace {

using namespace operators;
using Align = TextTable::Align;

constexpr double kUsPerMs = 1000;

std::string ms_text(double us) { return format_ms(us / kUsPerMs); }

// Returns the memory that a plan needs. If the exact amount is unknown, returns a lower bound and
// an amount that is enough.
std::string need_text(std::int64_t least_bytes, std::optional<std::int64_t> enough_bytes) {
  const std::string least = format_bytes(Bytes(least_bytes));
  if (enough_bytes == least_bytes) return "needs " + least;
  std::string text = "needs at least " + least;
  if (enough_bytes) text += ", " + format_bytes(Bytes(*enough_bytes)) + " is enough";
  return text;
}

// Writes the report on one plan.
// Thread safety: one thread at a time.
class PlanReport {
 public:
  PlanReport(const AtenGraph& graph, const PlanAtenOptions& options, const AtenPlanResult& result,
             std::size_t width)
      : graph_(graph), options_(options), result_(result), width_(width) {}

  std::string write() {
    text_ = printable(graph_.model()) + " on mesh " + mesh_text(options_.mesh) + ": " +
            format_plural(graph_.size(), "operator") + ", " +
            format_count(result_.counters.strategies) + " strategies\n\n";
    write_outcome();
    if (!result_.plan) return text_;
    text_ += "\n" + tensor_table() + "\n" + module_table();
    text_ +=
        "\nR: replicated, S0: sharded in dimension 0, P: sums that are still to be added; one word "
        "per mesh axis.\n";
    return text_;
  }

 private:
  void line(const std::string& name, const std::string& value) {
    constexpr std::size_t kNameWidth = 18;
    text_ += "  " + name + std::string(kNameWidth - std::min(kNameWidth, name.size()), ' ') +
             value + "\n";
  }

  void write_outcome() {
    text_ += outcome_text(result_) + "\n";
    if (result_.plan) write_totals();
    line("planned in", format_seconds(result_.total_s) + " on " +
                           format_plural(static_cast<std::uint64_t>(result_.threads), "thread"));
  }

  void write_totals() {
    const AtenEvaluation& evaluation = result_.evaluation;
    line("step", ms_text(evaluation.total_us()) + " ms");
    line("  operators", ms_text(evaluation.compute_us) + " ms");
    line("  moving tensors",
         ms_text(evaluation.redistribute_us) + " ms" + hidden_text(*result_.plan, evaluation));
    if (result_.status != SolveStatus::kOptimal)
      line("at least", ms_text(result_.lower_bound_us) + " ms");
    const std::string limit =
        options_.memory_limit ? " of " + format_bytes(Bytes(*options_.memory_limit)) : "";
    line("memory", format_bytes(Bytes(evaluation.peak_bytes)) + limit + " per device, at " +
                       printable(time_point_text(graph_, evaluation.peak_at)));
    line("  moved inputs", format_bytes(Bytes(evaluation.most_moved_bytes)) + " at most");
  }

  static std::string hidden_text(const AtenPlan& plan, const AtenEvaluation& evaluation) {
    if (!plan.overlap.any()) return "";
    return ", of which operators hide " + ms_text(evaluation.hidden_us) + " ms";
  }

  // An input or output of the graph. Equal rows of repeated blocks are joined.
  struct TensorRow {
    std::string role, shape, placement;
    std::int64_t bytes = 0;

    friend auto operator<=>(const TensorRow&, const TensorRow&) = default;
  };

  std::string tensor_table() const {
    const AtenPlan& plan = *result_.plan;
    FoldedRows<TensorRow> rows;
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      if (!graph_[n].is_placeholder()) continue;
      rows.add(graph_[n].target,
               row_of(role_text(graph_[n].role), *graph_[n].outputs[0], plan.nodes[n].outputs[0]));
    }
    for (std::size_t o = 0; o < graph_.outputs().size(); ++o) {
      const AtenOutput& output = graph_.outputs()[o];
      if (output.role != AtenOutputRole::kOutput) continue;
      rows.add(output.target,
               row_of("output", graph_.tensor(output.value), plan.outputs[o].placement));
    }
    TextTable table({{"tensor", Align::kLeft},
                     {"", Align::kLeft, 2},
                     {"shape", Align::kLeft},
                     {"placement", Align::kLeft},
                     {"per device"}});
    rows.for_each([&](const std::string& path, const TensorRow& row, std::size_t) {
      table.add_row({path, row.role, row.shape, row.placement, format_bytes(Bytes(row.bytes))});
    });
    return table.render(width_);
  }

  TensorRow row_of(std::string_view role, const AtenTensor& tensor,
                   const MaybePlacement& placement) const {
    return {std::string(role), shape_text(tensor), placement_text(placement, options_.mesh.size()),
            local_bytes(tensor, options_.mesh, placement.value_or(redistribution::Placement()))};
  }

  // Costs of a module, forward and backward.
  struct ModuleRow {
    std::size_t operators = 0;
    double compute_us = 0;
    double redistribute_us = 0;
    std::size_t moved = 0;
    std::string outputs;  // of the last forward operator

    bool operator==(const ModuleRow& other) const {
      return operators == other.operators && compute_us == other.compute_us &&
             redistribute_us == other.redistribute_us && outputs == other.outputs;
    }
  };

  std::vector<std::pair<std::string, ModuleRow>> costs_by_module() const {
    std::vector<std::pair<std::string, ModuleRow>> modules;
    std::map<std::string, std::size_t> numbers;
    for (std::size_t n = 0; n < graph_.size(); ++n) {
      const AtenNode& node = graph_[n];
      if (node.is_placeholder()) continue;
      const auto [at, is_new] = numbers.emplace(node.module, modules.size());
      if (is_new) modules.emplace_back(node.module, ModuleRow());
      ModuleRow& costs = modules[at->second].second;
      const AtenNodePlan& plan = result_.plan->nodes[n];
      ++costs.operators;
      costs.compute_us += plan.compute_us;
      for (const double us : plan.redistribute_us) {
        costs.redistribute_us += us;
        costs.moved += us > 0 ? 1 : 0;
      }
      if (!node.backward && !plan.outputs.empty())
        costs.outputs = placement_text(plan.outputs[0], options_.mesh.size());
    }
    return modules;
  }

  std::string module_table() const {
    FoldedRows<ModuleRow> rows;
    for (auto& [path, costs] : costs_by_module())
      rows.add(path.empty() ? "(no module)" : path, costs);
    TextTable table({{"module", Align::kLeft},
                     {"operators", Align::kRight, 2},
                     {"last output", Align::kLeft},
                     {"ms"},
                     {"moving ms"},
                     {"moved", Align::kRight, 1}});
    rows.for_each([&](const std::string& path, const ModuleRow& costs, std::size_t count) {
      const auto times = static_cast<double>(count);
      table.add_row({path, format_count(costs.operators * count), costs.outputs,
                     ms_text(costs.compute_us * times), ms_text(costs.redistribute_us * times),
                     format_count(costs.moved * count)});
    });
    return table.render(width_);
  }

  const AtenGraph& graph_;
  const PlanAtenOptions& options_;
  const AtenPlanResult& result_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string aten_plan_report(const AtenGraph& graph, const PlanAtenOptions& options,
                             const AtenPlanResult& result, std::size_t width) {
  return PlanReport(graph, options, result, width).write();
}

std::string aten_sweep_report(const MeshSweep& sweep, std::size_t width) {
  const bool overlaps = !sweep.meshes.empty() && sweep.meshes.front().hidden_us;
  const std::string moving = overlaps ? "exposed moving ms" : "moving ms";
  TextTable table({{"mesh", Align::kLeft},
                   {"step ms"},
                   {"operators ms", Align::kRight, 1},
                   {moving, Align::kRight, 1},
                   {"per device"},
                   {"", Align::kLeft}});
  for (const MeshOutcome& row : sweep.meshes) {
    if (!row.objective_us) {
      const bool is_short = row.least_bytes && row.status == SolveStatus::kInfeasible;
      table.add_row({mesh_text(row.mesh), "", "", "", "",
                     is_short ? need_text(*row.least_bytes, row.enough_bytes)
                              : shardwright::name_of(row.status)});
      continue;
    }
    table.add_row({mesh_text(row.mesh), ms_text(*row.objective_us), ms_text(*row.compute_us),
                   ms_text(*row.redistribute_us - row.hidden_us.value_or(0)),
                   format_bytes(Bytes(*row.peak_bytes)), shardwright::name_of(row.status)});
  }
  return format_count(static_cast<std::uint64_t>(sweep.devices)) + " devices, " +
         format_plural(sweep.meshes.size(), "mesh shape") + "\n\n" + table.render(width);
}

}  // namespace shardwright
