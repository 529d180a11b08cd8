// shardwright operators autoshard

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/operators/graph/sharding_spec.h"
#include "core/text/printable.h"
#include "core/units.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/build_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/io/operators/solve_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/operators/autoshard.h"
#include "runtime/operators/build.h"
#include "runtime/operators/solve.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/report/operators/aten_plan_text.h"
#include "runtime/report/operators/operators_text.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "runtime/surface/operators_requests.h"
#include "runtime/surface/pages.h"
#include "search/operators/strategies/generate.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::commands {
namespace {

using operators::autoshard::CostModel;
using operators::autoshard::Request;

// Makes a question of the file's entry. Members of the request replace those of the file.
Result<Request> question_of(const AutoshardEntry& entry, const AutoshardRequest& request) {
  Request question;
  question.graph = entry.graph;
  const std::optional<std::int64_t> devices = request.devices ? request.devices : entry.devices;
  if (!devices) {
    return invalid_input(entry.place + "/p",
                         "the file does not say how many devices there are; give {devices}");
  }
  question.devices = *devices;
  question.model = request.cost_model.value_or(entry.model.value_or(CostModel::kV2));
  return question;
}

// Errors are located in the file or at the flag.
Result<std::vector<AutoshardAnswer>> answer_all(const AutoshardFile& file,
                                                const AutoshardRequest& request) {
  std::vector<Request> questions;
  for (const AutoshardEntry& entry : file.entries) {
    Result<Request> question = question_of(entry, request);
    if (!question.ok()) return request.graph.locate(question.error());
    questions.push_back(std::move(question).value());
  }
  std::vector<Result<AutoshardAnswer>> results = autoshard(questions, request.threads);
  std::vector<AutoshardAnswer> answers;
  answers.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      Error error = results[i].error();
      const bool of_flag = error.where == "/p" && request.devices;
      error.where = of_flag ? "devices" : file.entries[i].place + error.where;
      return of_flag ? error : request.graph.locate(std::move(error));
    }
    answers.push_back(std::move(results[i]).value());
  }
  return answers;
}

}  // namespace

Result<Answer> answer(const AutoshardRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.graph.read(watch.read));
  const Result<AutoshardFile> file = read_autoshard(text);
  if (!file.ok()) return request.graph.locate(file.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<AutoshardAnswer> found, answer_all(*file, request));
  const auto answers = std::make_shared<const std::vector<AutoshardAnswer>>(std::move(found));
  Answer answer;
  answer.write_json = [answers, is_list = file->is_list](const TextSink& sink) {
    write_autoshard(*answers, is_list, sink);
  };
  answer.text = [answers, iterations = request.iterations](const TextForm& form) {
    std::string report;
    for (const AutoshardAnswer& one : *answers) {
      if (!report.empty()) report += "\n";
      report += text_report(one, iterations, form.width);
    }
    return report;
  };
  return answer;
}

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

// Returns the index of the cheapest strategy, the first among equals.
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

// Returns true if the graph has an output. Without one, the results of the last operators may have
// any sharding at no cost.
bool has_output(const OpGraph& graph) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].kind == operators::OpKind::kOutput) return true;
  }
  return false;
}

// Locates errors about mesh or threads at the member, other errors in the graph's file.
Error located(Error error, const Input& graph) {
  if (error.where == "threads" || error.where.starts_with("/mesh")) {
    error.where = error.where == "threads" ? "threads" : "mesh";
    return error;
  }
  return graph.locate(std::move(error));
}

// Builds the cost instance of a graph of PyTorch operators.
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

namespace {

using operators::PathCost;
using operators::ReshardPath;
using operators::ReshardPattern;
using operators::ReshardStep;

struct AnsweredQuestions {
  std::vector<ReshardQuestions> questions;
  std::vector<std::vector<ReshardPath>> paths;  // one list per question
};

std::vector<ReshardPath> paths_of(const ReshardQuestions& questions, PathCost mode) {
  operators::SpecTable table(questions.mesh);
  operators::ReshardPlanner planner(table, mode);
  const operators::TensorShape* shape = table.shape(questions.shape);
  std::vector<ReshardPath> paths;
  paths.reserve(questions.pairs.size());
  for (const ReshardQuestions::Pair& pair : questions.pairs)
    paths.push_back(planner.path(table.intern(shape, pair.from), table.intern(shape, pair.to)));
  return paths;
}

template <class Number>
std::string joined(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text.empty() ? "scalar" : text;
}

std::string route_text(const operators::DimSpecs& from, const ReshardPath& path) {
  if (!path.found) return "no path found";
  if (path.steps.empty()) return "-";
  std::string text = from.to_string();
  for (const ReshardStep& step : path.steps)
    text += " -> " + step.result.to_string();
  return text;
}

std::string step_text(const ReshardStep& step) {
  const std::string gathered = std::to_string(step.gather_dim);
  const std::string axis = " along " + std::to_string(step.axis);
  switch (step.pattern) {
    case ReshardPattern::kAllGather:
      return "gather " + gathered + axis;
    case ReshardPattern::kAllToAll:
      return "all-to-all " + gathered + ">" + std::to_string(step.shard_dim) + axis;
    case ReshardPattern::kShard:
      break;
  }
  return "split " + std::to_string(step.shard_dim) + axis;
}

std::string steps_text(const ReshardPath& path) {
  std::string text;
  for (const ReshardStep& step : path.steps)
    text += (text.empty() ? "" : ", ") + step_text(step);
  return text;
}

std::string table_text(const std::vector<ReshardQuestions>& questions,
                       const std::vector<std::vector<ReshardPath>>& paths, std::size_t width) {
  using Align = TextTable::Align;
  std::string text =
      "Costs are the alpha-beta model's over numbers of elements; bytes are these times the "
      "element\n"
      "size. S01 = split over mesh axes 0 and 1, R = whole; steps say tensor dimension and mesh "
      "axis.\n\n";
  for (std::size_t i = 0; i < questions.size(); ++i) {
    text += (i == 0 ? "Mesh " : "\nMesh ") + joined(questions[i].mesh->spec().shape) + ", tensor " +
            joined(questions[i].shape) + "\n";
    TextTable table({{"source", Align::kLeft},
                     {"target", Align::kLeft},
                     {"path", Align::kLeft},
                     {"steps", Align::kLeft, 2},
                     {"forward", Align::kRight, 1},
                     {"backward", Align::kRight, 1},
                     {"total"}});
    for (std::size_t k = 0; k < paths[i].size(); ++k) {
      const ReshardPath& path = paths[i][k];
      const ReshardQuestions::Pair& pair = questions[i].pairs[k];
      table.add_row({pair.from.to_string(), pair.to.to_string(), route_text(pair.from, path),
                     steps_text(path), format_cost(path.cost.forward),
                     format_cost(path.cost.backward), format_cost(path.cost.total)});
    }
    text += table.render(width);
  }
  return text;
}

}  // namespace

Result<Answer> answer(const PathsRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.file.read(watch.read));
  auto questions = read_reshard_questions(text);
  if (!questions.ok()) return request.file.locate(questions.error());
  const auto answered = std::make_shared<AnsweredQuestions>();
  answered->questions = std::move(questions).value();
  std::size_t num_pairs = 0;
  for (const ReshardQuestions& asked : answered->questions) {
    answered->paths.push_back(paths_of(asked, request.cost));
    num_pairs += asked.pairs.size();
  }
  watch.log.info("found the paths of " + std::to_string(num_pairs) + " pairs");
  Answer answer;
  answer.write_json = [answered, cost = request.cost](const TextSink& sink) {
    write_reshard_answers(answered->questions, answered->paths, cost, sink);
  };
  answer.text = [answered](const TextForm& form) {
    return table_text(answered->questions, answered->paths, form.width);
  };
  return answer;
}

namespace {

using operators::AtenGraph;
using operators::SolveStatus;

Result<redistribution::MeshShape> mesh_of(std::string_view text) {
  const auto mesh = parse_mesh(text);
  if (!mesh.ok()) return invalid_input("mesh", mesh.error().message);
  redistribution::MeshShape shape;
  for (std::size_t axis = 0; axis < (*mesh)->num_axes(); ++axis)
    shape.push_back((*mesh)->size(axis));
  return shape;
}

void override_limits(const OperatorsOptions& given, OperatorsOptions& limits) {
  if (given.time_limit_s) limits.time_limit_s = given.time_limit_s;
  if (given.work_limit) limits.work_limit = given.work_limit;
  if (given.seed != 0) limits.seed = given.seed;
  if (given.threads != 0) limits.threads = given.threads;
}

// Returns the text of the options file; empty if no file is given.
Result<std::string> text_of(const Input& file, const Watch& watch) {
  if (!file.given()) return std::string();
  return file.read(watch.read);
}

// Takes the times of the machine's operators, and its device if it is known and none is chosen.
Status use_machine(const Input& machine, bool has_device, const Watch& watch,
                   PlanAtenOptions& options) {
  if (!machine.given()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, machine.read(watch.read));
  Result<MachineFile> file = read_machine_file(text);
  if (!file.ok()) return machine.locate(file.error());
  MachineFile measured = *std::move(file);
  if (measured.operator_times.empty())
    return machine.locate(invalid_input("", "has no measured times of operators"));
  options.operator_times = std::move(measured.operator_times);
  if (!has_device && operators::find_compute_device(measured.spec.device_name))
    options.device = std::move(measured.spec.device_name);
  return {};
}

// Reads the options from `text` and applies the overrides.
Result<PlanAtenOptions> options_of(const Input& file, const std::string& text,
                                   const AtenOverrides& overrides, const Watch& watch) {
  PlanAtenOptions options;
  if (overrides.mesh) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(options.mesh, mesh_of(*overrides.mesh));
  }
  if (file.given()) {
    Result<PlanAtenOptions> read = read_aten_options(text, options.mesh);
    if (!read.ok()) return file.locate(read.error());
    options = std::move(read).value();
  }
  if (options.mesh.empty()) return invalid_input("mesh", "is needed, such as {mesh} 4x2");
  const bool has_device = overrides.device || options.device != PlanAtenOptions().device;
  SHARDWRIGHT_RETURN_IF_ERROR(use_machine(overrides.machine, has_device, watch, options));
  if (overrides.memory) options.memory_limit = overrides.memory;
  options.device = overrides.device.value_or(options.device);
  options.optimizer_states = overrides.optimizer_states.value_or(options.optimizer_states);
  options.redistribution = overrides.redistribution.value_or(options.redistribution);
  options.blocks = overrides.blocks.value_or(options.blocks);
  if (overrides.overlap) options.overlap = {*overrides.overlap, *overrides.overlap};
  options.gap = overrides.gap.value_or(options.gap);
  if (!overrides.roles.empty()) options.roles = overrides.roles;
  options.expressible = options.expressible || overrides.expressible;
  override_limits(overrides.limits, options.limits);
  return options;
}

bool has_member(const std::string& text, std::string_view key) {
  const Result<JsonDocument> document = JsonDocument::parse(text);
  return document.ok() && document->root().find(key).has_value();
}

Result<AtenGraph> load_graph(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<AtenGraph> graph = read_aten_graph(text);
  if (!graph.ok()) return input.locate(graph.error());
  return graph;
}

PlanAtenOptions watched_plan(PlanAtenOptions options, const Watch& watch) {
  options.limits.stop = watch.begin();
  options.limits.on_progress = [on_operators = watch.on_operators,
                                log = watch.log](const OperatorsProgress& progress) {
    if (on_operators) on_operators(progress);
    if (!log.enabled()) return;
    log.info(
        (progress.choice.empty() ? "nothing yet" : std::to_string(progress.objective) + " us") +
        ", at least " + std::to_string(progress.lower_bound));
  };
  return options;
}

// Locates an error about an option at the flag that set the option, or in the options file.
Error located(Error error, const Input& graph, const Input& file, const AtenOverrides& overrides) {
  if (error.where.starts_with("/operator_times")) return overrides.machine.locate(std::move(error));
  const std::array<std::pair<std::string_view, std::string_view>, 13> options{{
      {"/devices", "devices"},
      {"/axes", "axes"},
      {"/mesh", overrides.mesh ? "mesh" : ""},
      {"/device", overrides.device ? "device" : ""},
      {"/collectives", ""},
      {"/memory", overrides.memory ? "memory" : ""},
      {"threads", "threads"},
      {"/optimizer_states", overrides.optimizer_states ? "optimizer_states" : ""},
      {"/overlap", overrides.overlap ? "overlap" : ""},
      {"/placements", ""},
      {"/gap", overrides.gap ? "gap" : ""},
      {"/roles", overrides.roles.empty() ? "" : "roles"},
      {"/baselines", ""},
  }};
  for (const auto& [place, flag] : options) {
    if (!error.where.starts_with(place)) continue;  // "/devices" must precede "/device"
    if (!flag.empty()) {
      error.where = flag;
      return error;
    }
    return file.given() ? file.locate(std::move(error)) : error;
  }
  return graph.locate(std::move(error));
}

Outcome outcome_of(const AtenPlanResult& result) {
  if (result.plan) return Outcome::kDone;
  return result.status == SolveStatus::kInfeasible ? Outcome::kNoPlan : Outcome::kStopped;
}

}  // namespace

Result<Answer> answer(const AtenPlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, text_of(request.options, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanAtenOptions asked,
                               options_of(request.options, text, request.overrides, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenGraph read, load_graph(request.graph, watch));
  watch.log.info("read " + std::to_string(read.size()) + " operators");
  asked = watched_plan(std::move(asked), watch);
  Result<AtenPlanResult> planned = plan_aten(read, asked);
  if (!planned.ok())
    return located(planned.error(), request.graph, request.options, request.overrides);
  // The caller's function must not be called after the search.
  asked.limits.on_progress = nullptr;
  const auto graph = std::make_shared<const AtenGraph>(std::move(read));
  const auto options = std::make_shared<const PlanAtenOptions>(std::move(asked));
  const auto result = std::make_shared<const AtenPlanResult>(std::move(planned).value());
  Answer answer;
  answer.outcome = outcome_of(*result);
  answer.write_json = [graph, options, result](const TextSink& sink) {
    write_aten_plan(*graph, *options, *result, sink);
  };
  answer.text = [graph, options, result](const TextForm& form) {
    return aten_plan_report(*graph, *options, *result, form.width);
  };
  answer.write_page = page_of(graph, options, result);
  return answer;
}

Result<Answer> answer(const AtenSweepRequest& request, const Watch& watch) {
  AtenOverrides overrides = request.overrides;
  overrides.mesh = "1";  // placeholder; the sweep sets each mesh
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, text_of(request.options, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanAtenOptions asked,
                               options_of(request.options, text, overrides, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenGraph read, load_graph(request.graph, watch));
  asked = watched_plan(std::move(asked), watch);
  Result<AtenSweep> swept = sweep_aten(read, request.devices, request.most_axes, asked);
  if (!swept.ok()) return located(swept.error(), request.graph, request.options, overrides);
  asked.limits.on_progress = nullptr;
  const auto graph = std::make_shared<const AtenGraph>(std::move(read));
  const auto options = std::make_shared<const PlanAtenOptions>(std::move(asked));
  const auto sweep = std::make_shared<const AtenSweep>(std::move(swept).value());
  Answer answer;
  if (request.options.given() && has_member(text, "mesh")) {
    answer.warnings.push_back(
        request.options
            .locate(invalid_input("/mesh",
                                  "is not used: a sweep tries every mesh of {devices}; leave it "
                                  "out, or use `operators plan`"))
            .to_string());
  }
  answer.outcome = sweep->any_fits() ? Outcome::kDone : Outcome::kNoPlan;
  answer.write_json = [sweep](const TextSink& sink) { write_json(mesh_sweep(*sweep), sink); };
  answer.text = [sweep](const TextForm& form) {
    return aten_sweep_report(mesh_sweep(*sweep), form.width);
  };
  answer.write_page = page_of(graph, options, sweep);
  return answer;
}

namespace {

using operators::OperatorProblem;
using operators::SolveStatus;

Result<OperatorProblem> load(const SolveRequest& request, const Watch& watch) {
  CostInstanceOptions options;
  options.unmerged = request.unmerged;
  options.budget = request.budget;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.instance.read(watch.read));
  Result<OperatorProblem> problem = read_cost_instance(text, options);
  if (!problem.ok()) return request.instance.locate(problem.error());
  return problem;
}

Outcome outcome_of(const OperatorsResult& result) {
  switch (result.status) {
    case SolveStatus::kOptimal:
    case SolveStatus::kWithinGap:
    case SolveStatus::kFeasible:
      break;
    case SolveStatus::kInfeasible:
      return Outcome::kNoPlan;
    case SolveStatus::kUnknown:
      return Outcome::kStopped;
  }
  return Outcome::kDone;
}

OperatorsOptions watched(OperatorsOptions options, std::stop_token stop, const Watch& watch) {
  options.stop = std::move(stop);
  options.exchange = watch.exchange;
  options.on_progress = [on_operators = watch.on_operators,
                         log = watch.log](const OperatorsProgress& progress) {
    if (on_operators) on_operators(progress);
    if (!log.enabled()) return;
    log.info(
        (progress.choice.empty() ? "nothing yet" : "cost " + std::to_string(progress.objective)) +
        ", at least " + std::to_string(progress.lower_bound));
  };
  return options;
}

}  // namespace

Result<Answer> answer(const SolveRequest& request, const Watch& watch) {
  const Stopwatch clock;
  std::stop_token stop = watch.begin();  // before reading starts threads
  SHARDWRIGHT_ASSIGN_OR_RETURN(OperatorProblem read, load(request, watch));
  const double read_s = clock.seconds();
  watch.log.info("read " + std::to_string(read.lowered.graph().num_nodes()) + " operators in " +
                 std::to_string(read_s) + " s");
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      OperatorsResult solved,
      solve_operators(read, watched(request.options, std::move(stop), watch)));
  const auto problem = std::make_shared<const OperatorProblem>(std::move(read));
  const auto result = std::make_shared<const OperatorsResult>(std::move(solved));
  Answer answer;
  answer.outcome = outcome_of(*result);
  answer.write_json = [problem, result, seconds = clock.seconds()](const TextSink& sink) {
    write_solution(*problem, *result, seconds, sink);
  };
  answer.text = [problem, result, read_s](const TextForm& form) {
    OperatorsReportOptions options;
    options.width = form.width;
    options.read_s = read_s;
    return text_report(*problem, *result, options);
  };
  return answer;
}

namespace {

using operators::CommAction;
using operators::CommPattern;
using operators::NodeStrategies;
using operators::Operand;
using operators::Strategy;

std::string specs_text(const NodeStrategies& of, std::size_t s) {
  std::string text;
  for (const Operand& operand : of.operands()) {
    // The elements of a tuple are mostly equal, so only the first one is shown.
    text += (text.empty() ? "" : " ") + operand.name + "[" +
            of.specs(s, operand)[0]->dims.to_string() + "]";
    if (operand.tuple) text += "x" + std::to_string(operand.shapes.size());
  }
  return text;
}

const char* pattern_text(CommPattern pattern) {
  switch (pattern) {
    case CommPattern::kAllReduceForward:
      return "all-reduce";
    case CommPattern::kAllReduceBackward:
      return "all-reduce gradient of";
    case CommPattern::kGatherForward:
      return "gather";
    case CommPattern::kReshard:
      break;
  }
  return "reshard";
}

std::string comm_text(const NodeStrategies& of, const Strategy& strategy) {
  std::string text;
  for (const CommAction& action : strategy.comm_actions()) {
    text += (text.empty() ? "" : ", ") + std::string(pattern_text(action.pattern)) + " " +
            of.operands()[action.operand].name;
    if (action.axes != 0) text += " over " + operators::DimSpec{action.axes}.to_string().substr(1);
  }
  return text.empty() ? "-" : text;
}

std::string strategies_text(const std::vector<NamedStrategies>& records, std::size_t width) {
  using Align = TextTable::Align;
  std::string text =
      "Communication costs bytes sent, computing multiplications, both forward and backward; "
      "memory\n"
      "is activations, parameters and buffers of one device.\n";
  for (const NamedStrategies& record : records) {
    const NodeStrategies& of = record.strategies;
    text += "\n" + printable(record.id) + ": " + std::to_string(of.size()) +
            (of.size() == 1 ? " strategy\n" : " strategies\n");
    TextTable table({{"strategy", Align::kLeft},
                     {"specs", Align::kLeft, 2},
                     {"communication", Align::kLeft, 3},
                     {"comm cost"},
                     {"compute cost"},
                     {"memory", Align::kRight, 1}});
    for (std::size_t s = 0; s < of.size(); ++s) {
      table.add_row({of.name(s), specs_text(of, s), comm_text(of, of[s]),
                     format_cost(of[s].comm.total), format_cost(of[s].compute.total),
                     format_bytes(Bytes(of[s].budget_bytes()))});
    }
    text += table.render(width);
  }
  return text;
}

Result<NamedStrategies> strategies_of(const StrategyRecord& record) {
  auto table = std::make_shared<operators::SpecTable>(record.mesh);
  operators::ReshardPlanner planner(*table, operators::PathCost::kCompat);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      NodeStrategies strategies,
      operators::generate_chain(record.graph, record.chain, record.options, *table, planner));
  return NamedStrategies{record.id, std::move(table), std::move(strategies)};
}

}  // namespace

Result<Answer> answer(const StrategiesRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.file.read(watch.read));
  const auto records = read_strategy_records(text);
  if (!records.ok()) return request.file.locate(records.error());
  const auto answers = std::make_shared<std::vector<NamedStrategies>>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < records->size(); ++i) {
    Result<NamedStrategies> strategies = strategies_of((*records)[i]);
    if (!strategies.ok()) {
      Error error = strategies.error();
      // The nodes of a record's graph have no place in the file, so the message names the node.
      const bool of_mesh = error.where == "/mesh";
      error.where = "/records/" + std::to_string(i) + (of_mesh ? "/mesh" : "");
      return request.file.locate(std::move(error));
    }
    count += strategies->strategies.size();
    answers->push_back(std::move(strategies).value());
  }
  watch.log.info("generated " + std::to_string(count) + " strategies of " +
                 std::to_string(answers->size()) + " operators");
  Answer answer;
  answer.write_json = [answers](const TextSink& sink) { write_strategies(*answers, sink); };
  answer.text = [answers](const TextForm& form) { return strategies_text(*answers, form.width); };
  return answer;
}

}  // namespace shardwright::commands
