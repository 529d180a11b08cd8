// Tables of operators and of conversions between them.

#include "runtime/report/operators/operators_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::SolveStatus;
using Align = TextTable::Align;

std::string bytes_text(std::int64_t bytes) { return format_bytes(Bytes(bytes)); }

// An elementwise operator of two tensors repeats one placement three times; shows it once.
std::string short_name(const std::string& strategy) {
  const std::size_t operation = strategy.find(" <binary-elementwise-op> ");
  const std::size_t equals = strategy.find(" = ");
  if (operation == std::string::npos || equals > operation) return strategy;
  return strategy.substr(0, equals) + " elementwise";
}

// Returns the indices of the `count` largest costs, ascending.
std::vector<std::size_t> dearest(const std::vector<double>& costs, std::size_t count) {
  std::vector<std::size_t> indices(costs.size());
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  if (costs.size() <= count) return indices;
  std::stable_sort(indices.begin(), indices.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  indices.resize(count);
  std::sort(indices.begin(), indices.end());
  return indices;
}

// Thread safety: one thread at a time.
class Report {
 public:
  Report(const operators::OperatorProblem& problem, const OperatorsResult& result,
         const OperatorsReportOptions& options)
      : problem_(problem), graph_(problem.lowered.graph()), result_(result), options_(options) {}

  std::string write() {
    text_ = format_plural(graph_.num_nodes(), "operator") + ", " +
            format_plural(graph_.edges().size(), "edge") + ", " +
            format_plural(graph_.num_strategies(), "strategy choice") + "; " +
            format_count(problem_.lowered.instance().num_nodes()) + " to choose\n\n";
    write_outcome();
    if (!result_.choice.empty()) {
      write_operators();
      write_conversions();
    }
    return text_;
  }

 private:
  void line(const std::string& name, const std::string& value) {
    constexpr std::size_t kNameWidth = 16;
    text_ += "  " + name + std::string(kNameWidth - std::min(kNameWidth, name.size()), ' ') +
             value + "\n";
  }

  void write_outcome() {
    switch (result_.status) {
      case SolveStatus::kOptimal:
      case SolveStatus::kWithinGap:  // only of plans for ATen graphs
        text_ += "Optimal: no choice is cheaper.\n";
        break;
      case SolveStatus::kFeasible:
        text_ += "Stopped before the proof that nothing is cheaper.\n";
        break;
      case SolveStatus::kInfeasible:
        text_ += problem_.max_cost
                     ? "Infeasible: no choice keeps the limits and the largest cost.\n"
                     : "Infeasible: no choice keeps the limits.\n";
        if (result_.shortage) write_shortage(*result_.shortage);
        break;
      case SolveStatus::kUnknown:
        text_ += "Stopped before anything was found.\n";
        break;
    }
    if (!result_.choice.empty()) write_totals();
    line("time",
         format_seconds(result_.solve_s) + ", " + format_seconds(options_.read_s) + " to read");
  }

  void write_shortage(const operators::MemoryShortage& shortage) {
    const auto size = [](std::int64_t bytes) {
      return bytes_text(bytes) + " (" + format_count(static_cast<std::uint64_t>(bytes)) + " bytes)";
    };
    line("memory limit", size(shortage.limit_bytes));
    line("needed", (shortage.minimum_is_exact ? "" : "at least ") + size(shortage.minimum_bytes));
    if (shortage.enough_bytes && !shortage.minimum_is_exact)
      line("enough", size(*shortage.enough_bytes));
  }

  void write_totals() {
    const operators::CostEvaluation totals = operators::evaluate(graph_, result_.choice);
    line("cost", format_cost(result_.objective));
    line("  operators", format_cost(totals.node_cost));
    line("  conversions", format_cost(totals.edge_cost));
    if (problem_.soft_budget) line("  over budget", format_cost(result_.overbudget_cost));
    if (result_.status == SolveStatus::kFeasible)
      line("lower bound", format_cost(result_.lower_bound));
    if (problem_.num_memory_time_points == 0) return;
    const std::int64_t limit = problem_.lowered.instance().limits().front();
    const bool limited = limit < std::numeric_limits<std::int64_t>::max();
    line("memory", bytes_text(result_.peak_bytes) +
                       (limited ? " of " + bytes_text(limit) : std::string()) + " (" +
                       format_count(static_cast<std::uint64_t>(result_.peak_bytes)) + " bytes)");
  }

  std::string name(std::size_t n) const {
    return graph_.name(n).empty() ? "node " + std::to_string(n) : printable(graph_.name(n));
  }

  std::string strategy(std::size_t n) const {
    const std::uint32_t s = result_.choice[n];
    if (problem_.strategy_names.empty()) {
      return std::to_string(s) + " of " + std::to_string(graph_.num_strategies(n));
    }
    return short_name(problem_.strategy_names[n][s]);
  }

  // Returns the operator's peak memory in bytes; nullopt if it uses none.
  std::optional<std::int64_t> bytes(std::size_t n) const {
    std::optional<std::int64_t> most;
    for (const CostInstance::Usage& usage : graph_.usages(n)) {
      if (usage.live.begin >= problem_.num_memory_time_points) continue;
      most = std::max(most.value_or(0), graph_.bytes(usage, result_.choice[n]));
    }
    return most;
  }

  void write_operators() {
    std::vector<double> costs;
    for (std::size_t n = 0; n < graph_.num_nodes(); ++n)
      costs.push_back(graph_.costs(n)[result_.choice[n]]);
    TextTable table({{"#", Align::kRight, 2},
                     {"operator", Align::kLeft},
                     {"strategy", Align::kLeft},
                     {"cost"},
                     {"memory", Align::kRight, 1}});
    if (problem_.num_memory_time_points == 0) table.hide(4);
    const std::vector<std::size_t> shown = dearest(costs, options_.max_operators);
    for (const std::size_t n : shown) {
      const std::optional<std::int64_t> held = bytes(n);
      table.add_row({std::to_string(n), name(n), strategy(n), format_cost(costs[n]),
                     held ? bytes_text(*held) : "-"});
    }
    text_ += "\nStrategies\n" + table.render(options_.width);
    note_hidden(costs.size() - shown.size(), "operator");
  }

  void write_conversions() {
    std::vector<const CostInstance::Edge*> edges;
    std::vector<double> costs;
    for (const CostInstance::Edge& edge : graph_.edges()) {
      const double cost =
          graph_.edge_cost(edge, result_.choice[edge.first], result_.choice[edge.second]);
      if (cost == 0) continue;
      edges.push_back(&edge);
      costs.push_back(cost);
    }
    if (edges.empty()) {
      text_ += "\nNo tensor is converted between placements at a cost.\n";
      return;
    }
    TextTable table({{"from", Align::kLeft},
                     {"strategy", Align::kLeft, 1},
                     {"to", Align::kLeft},
                     {"strategy", Align::kLeft, 1},
                     {"cost"}});
    const std::vector<std::size_t> shown = dearest(costs, options_.max_conversions);
    for (const std::size_t i : shown) {
      table.add_row({name(edges[i]->first), strategy(edges[i]->first), name(edges[i]->second),
                     strategy(edges[i]->second), format_cost(costs[i])});
    }
    text_ += "\nConversions of tensors between the placements of two operators\n" +
             table.render(options_.width);
    note_hidden(costs.size() - shown.size(), "conversion");
  }

  void note_hidden(std::size_t count, const char* noun) {
    if (count > 0) text_ += "  and " + format_plural(count, noun) + " of lower cost\n";
  }

  const operators::OperatorProblem& problem_;
  const CostInstance& graph_;
  const OperatorsResult& result_;
  const OperatorsReportOptions& options_;
  std::string text_;
};

}  // namespace

std::string text_report(const operators::OperatorProblem& problem, const OperatorsResult& result,
                        const OperatorsReportOptions& options) {
  return Report(problem, result, options).write();
}

namespace {

using operators::autoshard::CostRow;
using operators::autoshard::Evaluation;
using operators::autoshard::Graph;
using operators::autoshard::Iteration;
using operators::autoshard::Op;
using operators::autoshard::OpKind;

using Align = TextTable::Align;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

std::string cost_text(double cost) {
  char text[32];
  const bool whole = cost == std::floor(cost);
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.17g", cost);
  return text;
}

// Returns the form in which the model calls the op.
std::string call_of(const Op& op) {
  if (op.kind == OpKind::kPlaceholder) return "placeholder";
  if (op.module) return "call_module";
  const bool method =
      op.kind == OpKind::kView || op.kind == OpKind::kPermute || op.kind == OpKind::kTranspose;
  return method ? "call_method" : "call_function";
}

// Adds the module's parameters, as far as shapes determine them.
void add_parameters(const Graph& graph, const Op& op, TextTable& table) {
  if (!op.module || op.shape.empty()) return;
  std::vector<std::int64_t> weight{op.shape.back()};
  if (op.kind == OpKind::kMatmul) {
    const std::vector<std::int64_t>& input = graph.op(op.args.front()).shape;
    if (input.empty()) return;
    weight.push_back(input.back());
  } else if (op.kind != OpKind::kLayerNorm) {
    return;
  }
  table.add_row({"|-weight", "", "", shape_text(weight), op.dtype});
  table.add_row({"|-bias", "", "", shape_text({op.shape.back()}), op.dtype});
}

std::string iteration_text(const Iteration& iteration, std::size_t width) {
  return "Iteration " + std::to_string(iteration.index) + "\n" +
         autoshard_cost_table(iteration.evaluation, width) + "\n";
}

std::string optima_text(std::uint64_t count) {
  if (count == std::numeric_limits<std::uint64_t>::max()) return "2^64 - 1 or more assignments";
  return format_plural(count, "assignment");
}

}  // namespace

std::string autoshard_node_table(const Graph& graph, std::size_t width) {
  TextTable table({{"name", Align::kLeft},
                   {"op", Align::kLeft, 2},
                   {"target", Align::kLeft, 1},
                   {"shape", Align::kLeft},
                   {"dtype", Align::kLeft, 3}});
  for (const Op& op : graph.ops()) {
    table.add_row({op.name, call_of(op), op.module ? *op.module : std::string(name_of(op.kind)),
                   shape_text(op.shape), op.dtype});
    add_parameters(graph, op, table);
  }
  return table.render(width);
}

std::string autoshard_cost_table(const Evaluation& evaluation, std::size_t width) {
  TextTable table(
      {{"Name", Align::kLeft}, {"InSpec", Align::kLeft}, {"OutSpec", Align::kLeft}, {"Cost"}});
  for (const CostRow& row : evaluation.rows) {
    table.add_row({row.name, row.in, row.out, cost_text(row.cost)});
  }
  table.add_row({"Total", "", "", cost_text(evaluation.total)});
  return table.render(width);
}

std::string text_report(const AutoshardAnswer& answer, bool iterations, std::size_t width) {
  std::string text = "Graph\n" + autoshard_node_table(*answer.request.graph, width) + "\n";
  if (iterations) {
    for (const Iteration& iteration : answer.iterations)
      text += iteration_text(iteration, width);
    text += "No assignment costs less.\n\n";
  }
  text += "Optimum on " +
          format_plural(static_cast<std::uint64_t>(answer.request.devices), "device") + ": cost " +
          cost_text(answer.solution.optimum) + " (elements moved), reached by " +
          optima_text(answer.solution.num_optimal) + "\n";
  text += autoshard_cost_table(answer.evaluation, width) + "\nSchedule\n";
  if (answer.schedule.empty()) text += "  nothing to shard\n";
  for (const std::string& line : answer.schedule)
    text += "  " + printable(line) + "\n";
  return text;
}

}  // namespace shardwright
