// shardwright operators build
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/text/printable.h"
#include "runtime/commands/operators/operators_commands.h"
#include "runtime/io/operators/aten/aten_graph_json.h"
#include "runtime/io/operators/aten/aten_plan_json.h"
#include "runtime/io/operators/build_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/operators/build.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::commands {
namespace {

using operators::AtenGraph;
using operators::CostGraph;
using operators::CostGraphCounters;
using operators::MergedGraph;
using operators::NodeStrategies;
using operators::OperatorProblem;
using operators::OpGraph;

double cost_of(const NodeStrategies& strategies, std::size_t s) {
  return strategies[s].compute.total + strategies[s].comm.total;
}

// The cheapest strategy, the first one if several cost the same.
std::size_t cheapest(const NodeStrategies& strategies) {
  std::size_t best = 0;
  for (std::size_t s = 1; s < strategies.size(); ++s) {
    if (cost_of(strategies, s) < cost_of(strategies, best)) best = s;
  }
  return best;
}

std::string node_table(const OpGraph& graph, const CostGraph& costs, std::size_t width) {
  using Align = TextTable::Align;
  TextTable table({{"node", Align::kLeft},
                   {"operator", Align::kLeft},
                   {"strategies"},
                   {"cheapest", Align::kLeft},
                   {"cost", Align::kRight},
                   {"follows", Align::kLeft, 2}});
  for (std::size_t n = 0; n < std::min(graph.size(), kMostTextRows); ++n) {
    const NodeStrategies& strategies = costs.strategies[n];
    const std::size_t best = cheapest(strategies);
    const std::uint32_t leader = costs.merged.follows[n];
    table.add_row({graph[n].name, std::string(to_name(graph[n].kind)),
                   format_count(strategies.size()), strategies.name(best),
                   format_cost(cost_of(strategies, best)),
                   leader == MergedGraph::kNone ? "" : graph[leader].name});
  }
  std::string text = table.render(width);
  if (graph.size() > kMostTextRows)
    text += "  and " + format_plural(graph.size() - kMostTextRows, "node") + " more, in the JSON\n";
  return text;
}

std::string summary(const OpGraph& graph, const BuiltOperators& built, const std::string& mesh) {
  const CostGraph& costs = built.costs;
  const CostGraphCounters& counters = costs.counters;
  std::string text = printable(graph.name()) + " on mesh " + printable(mesh) + ": " +
                     format_plural(graph.size(), "node") + ", " +
                     format_count(counters.strategies) + " strategies\n";
  text += "  edges         " + format_count(costs.edges.size()) + ", " +
          format_count(costs.merged.edges.size()) + " after merging\n";
  text += "  matrices      " + format_count(counters.matrices) + " different, " +
          format_count(counters.matrices_computed) + " computed, " +
          format_count(counters.matrix_entries) + " entries on all edges\n";
  text += "  specs         " + format_count(counters.specs) + " of " +
          format_count(counters.shapes) + " shapes from " + format_count(counters.dim_specs) +
          " dim specs\n";
  text += "  paths         " + format_count(counters.path_searches) + " searched, " +
          format_count(counters.path_questions) + " asked for\n";
  text += "  aliases       " + format_count(costs.aliases.size()) + "\n";
  text += "  built in      " + format_seconds(built.build_s) + " on " +
          format_plural(static_cast<std::uint64_t>(built.threads), "thread") + "\n";
  text +=
      "\nCosts are multiplications plus bytes sent, as ColossalAI adds them. \"cheapest\" looks at "
      "the\n"
      "operator alone; after merging, an operator takes the choice of the one that it follows.\n";
  return text;
}

std::string aten_summary(const AtenGraph& graph, const operators::CostInstance& instance,
                         const std::string& mesh) {
  return printable(graph.model()) + " on mesh " + printable(mesh) + ": " +
         format_plural(instance.num_nodes(), "node") + ", " +
         format_count(instance.num_strategies()) + " strategies, " +
         format_plural(instance.edges().size(), "edge") + " with " +
         format_count(instance.num_matrices()) + " different matrices\n";
}

// Without an output, what the last operators make may end in any sharding, at no cost.
bool has_output(const OpGraph& graph) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].kind == operators::OpKind::kOutput) return true;
  }
  return false;
}

// What is wrong with the mesh or the threads is in their flags.
Error located(Error error, const Input& graph) {
  if (error.where == "threads" || error.where.starts_with("/mesh")) {
    error.where = error.where == "threads" ? "threads" : "mesh";
    return error;
  }
  return graph.locate(std::move(error));
}

// The cost instance of a graph of PyTorch's operators.
Result<Answer> build_traced(const BuildRequest& request, const std::string& text,
                            const operators::DeviceMesh& mesh) {
  Result<AtenGraph> read = read_aten_graph(text);
  if (!read.ok()) return request.graph.locate(read.error());
  PlanAtenOptions options;
  for (std::size_t axis = 0; axis < mesh.num_axes(); ++axis)
    options.mesh.push_back(mesh.size(axis));
  options.limits.threads = request.threads;
  Result<OperatorProblem> built = build_aten(*read, options);
  if (!built.ok()) return located(built.error(), request.graph);
  const auto graph = std::make_shared<const AtenGraph>(std::move(read).value());
  const auto problem = std::make_shared<const OperatorProblem>(std::move(built).value());
  Answer answer;
  answer.write_json = [graph, problem](const TextSink& sink) {
    write_aten_instance(*graph, problem->lowered.instance(), sink);
  };
  answer.text = [graph, problem, name = request.mesh](const TextForm&) {
    return aten_summary(*graph, problem->lowered.instance(), name);
  };
  return answer;
}

}  // namespace

Result<Answer> answer(const BuildRequest& request, const Watch& watch) {
  auto mesh = parse_mesh(request.mesh);
  if (!mesh.ok()) return invalid_input("mesh", mesh.error().message);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.graph.read(watch.read));
  if (is_aten_graph(text)) return build_traced(request, text, **mesh);
  Result<OpGraph> read = read_op_graph(text);
  if (!read.ok()) return request.graph.locate(read.error());
  watch.log.info("read " + format_plural(read->size(), "node"));
  Result<BuiltOperators> result = build_operators(*read, std::move(mesh).value(), request.threads);
  if (!result.ok()) return located(result.error(), request.graph);
  watch.log.info("built " + format_count(result->costs.counters.strategies) + " strategies");
  const auto graph = std::make_shared<const OpGraph>(std::move(read).value());
  const auto built = std::make_shared<const BuiltOperators>(std::move(result).value());
  Answer answer;
  answer.write_json = [graph, built](const TextSink& sink) {
    write_cost_graph(*graph, built->costs, sink);
  };
  if (!has_output(*graph)) {
    answer.warnings.push_back(
        "/nodes: no node is of the kind \"output\", so that results may stay in any sharding at no "
        "cost; add one whose inputs are the results, such as {\"name\": \"output\", \"kind\": "
        "\"output\", \"inputs\": [" +
        std::to_string(graph->size() - 1) + "], \"shape\": [shape of each]}");
  }
  answer.text = [graph, built, name = request.mesh](const TextForm& form) {
    return summary(*graph, *built, name) + "\n" + node_table(*graph, built->costs, form.width);
  };
  return answer;
}

}  // namespace shardwright::commands
