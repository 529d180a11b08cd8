// shardwright operators paths FILE
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/mesh/sharding_spec.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/report/text/format.h"
#include "runtime/report/text/text_table.h"
#include "search/operators/reshard/reshard_path.h"
#include "search/operators/reshard/reshard_planner.h"

namespace shardwright::cli {
namespace {

using operators::PathCost;
using operators::ReshardPath;
using operators::ReshardPattern;
using operators::ReshardStep;

struct PathsArguments {
  std::string path;
  std::string cost = "compat";
  OutputArguments output;

  PathCost mode() const {
    if (cost == "exact") return PathCost::kExact;
    return cost == "sum" ? PathCost::kSum : PathCost::kCompat;
  }
};

std::vector<ReshardPath> answer(const ReshardQuestions& questions, PathCost mode) {
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

std::string report(const std::vector<ReshardQuestions>& questions,
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

int run(const PathsArguments& arguments) {
  const Log log = arguments.output.log();
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const auto questions = read_reshard_questions(*text);
  if (!questions.ok()) return fail(in_file(questions.error(), arguments.path));
  std::size_t num_pairs = 0;
  std::vector<std::vector<ReshardPath>> paths;
  for (const ReshardQuestions& asked : *questions) {
    paths.push_back(answer(asked, arguments.mode()));
    num_pairs += asked.pairs.size();
  }
  log.info("found the paths of " + std::to_string(num_pairs) + " pairs");
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) {
        write_reshard_answers(*questions, paths, arguments.mode(), sink);
      },
      [&](std::size_t width) { return report(*questions, paths, width); });
}

}  // namespace

void add_operators_paths_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<PathsArguments>();
  CLI::App& command = *operators.add_subcommand(
      "paths", "Finds how tensors are converted from one sharding to another, and the cost");
  command
      .add_option("FILE", arguments->path,
                  "List of meshes, tensor shapes and pairs of sharding specs (- = stdin)")
      ->type_name(kFile)
      ->required();
  command
      .add_option("--cost", arguments->cost,
                  "compat = ColossalAI's paths and costs, sum = its paths, costs added up once, "
                  "exact = the cheapest paths")
      ->type_name("compat|sum|exact")
      ->check(CLI::IsMember({"compat", "sum", "exact"}).description(""));
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright operators paths samples/data/paths.json --cost exact");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
