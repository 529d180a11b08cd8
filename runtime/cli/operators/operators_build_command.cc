// shardwright operators build GRAPH
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "core/text/printable.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/aten/aten_graph_json.h"
#include "runtime/io/operators/aten/aten_plan_json.h"
#include "runtime/io/operators/build_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/operators/build.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"

namespace shardwright::cli {
namespace {

using operators::CostGraph;
using operators::CostGraphCounters;
using operators::MergedGraph;
using operators::NodeStrategies;
using operators::OpGraph;

struct BuildArguments {
  std::string graph_path;
  std::string mesh;
  OutputArguments output;
};

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
  for (std::size_t n = 0; n < std::min(graph.size(), kMostReportRows); ++n) {
    const NodeStrategies& strategies = costs.strategies[n];
    const std::size_t best = cheapest(strategies);
    const std::uint32_t leader = costs.merged.follows[n];
    table.add_row({graph[n].name, std::string(to_name(graph[n].kind)),
                   format_count(strategies.size()), strategies.name(best),
                   format_cost(cost_of(strategies, best)),
                   leader == MergedGraph::kNone ? "" : graph[leader].name});
  }
  std::string text = table.render(width);
  if (graph.size() > kMostReportRows)
    text +=
        "  and " + format_plural(graph.size() - kMostReportRows, "node") + " more, in the JSON\n";
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

// The cost instance of a graph of PyTorch's operators.
int run_aten(const BuildArguments& arguments, const std::string& text,
             const operators::DeviceMesh& mesh) {
  const Result<operators::AtenGraph> graph = read_aten_graph(text);
  if (!graph.ok()) return fail(in_file(graph.error(), arguments.graph_path));
  PlanAtenOptions options;
  for (std::size_t axis = 0; axis < mesh.num_axes(); ++axis)
    options.mesh.push_back(mesh.size(axis));
  options.limits.threads = arguments.output.threads;
  const Result<operators::OperatorProblem> problem = build_aten(*graph, options);
  if (!problem.ok()) return fail(in_file(problem.error(), arguments.graph_path));
  const operators::CostInstance& instance = problem->lowered.instance();
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_aten_instance(*graph, instance, sink); },
      [&](std::size_t) {
        return printable(graph->model()) + " on mesh " + printable(arguments.mesh) + ": " +
               format_plural(instance.num_nodes(), "node") + ", " +
               format_count(instance.num_strategies()) + " strategies, " +
               format_plural(instance.edges().size(), "edge") + " with " +
               format_count(instance.num_matrices()) + " different matrices\n";
      });
}

int run(const BuildArguments& arguments) {
  const Log log = arguments.output.log();
  auto mesh = parse_mesh(arguments.mesh);
  if (!mesh.ok()) return fail(invalid_input("--mesh", mesh.error().message));
  const Result<std::string> text = read_file(arguments.graph_path);
  if (!text.ok()) return fail(text.error());
  if (is_aten_graph(*text)) return run_aten(arguments, *text, **mesh);
  const Result<OpGraph> graph = read_op_graph(*text);
  if (!graph.ok()) return fail(in_file(graph.error(), arguments.graph_path));
  log.info("read " + format_plural(graph->size(), "node"));
  const Result<BuiltOperators> built =
      build_operators(*graph, std::move(mesh).value(), arguments.output.threads);
  if (!built.ok()) return fail(in_file(built.error(), arguments.graph_path));
  log.info("built " + format_count(built->costs.counters.strategies) + " strategies");
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_cost_graph(*graph, built->costs, sink); },
      [&](std::size_t width) {
        return summary(*graph, *built, arguments.mesh) + "\n" +
               node_table(*graph, built->costs, width);
      });
}

}  // namespace

void add_operators_build_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App& command = *operators.add_subcommand(
      "build", "Lists the strategies of every operator with what resharding between them costs");
  command
      .add_option("GRAPH", arguments->graph_path,
                  "Operator graph, or a traced PyTorch model (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_option("--mesh", arguments->mesh, "Devices along each axis, such as 2x4")->required();
  add_output_arguments(command, arguments->output);
  add_example(
      command,
      "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
