#include "runtime/report/operators/autoshard_text.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright {
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

// How the model calls the op.
std::string call_of(const Op& op) {
  if (op.kind == OpKind::kPlaceholder) return "placeholder";
  if (op.module) return "call_module";
  const bool method =
      op.kind == OpKind::kView || op.kind == OpKind::kPermute || op.kind == OpKind::kTranspose;
  return method ? "call_method" : "call_function";
}

// Parameters of the module, as far as the shapes show them.
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
