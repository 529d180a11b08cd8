// shardwright operators autoshard GRAPH
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/autoshard/autoshard_json.h"
#include "runtime/operators/autoshard.h"
#include "runtime/report/operators/autoshard_text.h"

namespace shardwright::cli {
namespace {

using operators::autoshard::CostModel;
using operators::autoshard::Request;

struct AutoshardArguments {
  std::string graph_path;
  std::optional<std::int64_t> devices;
  std::optional<std::string> cost_model;
  bool iterations = false;
  OutputArguments output;
};

// Options of the command line override the file.
Result<Request> request_of(const AutoshardEntry& entry, const AutoshardArguments& arguments) {
  Request request;
  request.graph = entry.graph;
  const std::optional<std::int64_t> devices = arguments.devices ? arguments.devices : entry.devices;
  if (!devices) {
    return invalid_input(entry.place + "/p",
                         "the file does not say how many devices there are; give --devices");
  }
  request.devices = *devices;
  request.model = entry.model.value_or(CostModel::kV2);
  if (arguments.cost_model) {
    request.model = *arguments.cost_model == "v1" ? CostModel::kV1 : CostModel::kV2;
  }
  return request;
}

Result<std::vector<AutoshardAnswer>> answer_all(const AutoshardFile& file,
                                                const AutoshardArguments& arguments) {
  std::vector<Request> requests;
  for (const AutoshardEntry& entry : file.entries) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(Request request, request_of(entry, arguments));
    requests.push_back(std::move(request));
  }
  std::vector<Result<AutoshardAnswer>> results = autoshard(requests, arguments.output.threads);
  std::vector<AutoshardAnswer> answers;
  answers.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) {
      Error error = results[i].error();
      error.where = file.entries[i].place + error.where;
      return error;
    }
    answers.push_back(std::move(results[i]).value());
  }
  return answers;
}

int run(const AutoshardArguments& arguments) {
  const Result<std::string> text = read_file(arguments.graph_path);
  if (!text.ok()) return fail(text.error());
  const Result<AutoshardFile> file = read_autoshard(*text);
  if (!file.ok()) return fail(in_file(file.error(), arguments.graph_path));
  const Result<std::vector<AutoshardAnswer>> answers = answer_all(*file, arguments);
  if (!answers.ok()) return fail(in_file(answers.error(), arguments.graph_path));
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_autoshard(*answers, file->is_list, sink); },
      [&](std::size_t width) {
        std::string report;
        for (const AutoshardAnswer& answer : *answers) {
          if (!report.empty()) report += "\n";
          report += text_report(answer, arguments.iterations, width);
        }
        return report;
      });
}

}  // namespace

void add_operators_autoshard_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<AutoshardArguments>();
  CLI::App& command = *operators.add_subcommand(
      "autoshard", "Shards the tensors of a graph over devices at the least printed cost");
  command.add_option("graph", arguments->graph_path, "A file with a `graph`, or - for input")
      ->type_name(kFile)
      ->required();
  command.add_option("--devices", arguments->devices, "Number of devices (default: the file's)")
      ->transform(positive_number())
      ->type_name("P");
  command
      .add_option("--cost-model", arguments->cost_model,
                  "Generation of the cost model (default: the file's, else v2)")
      ->type_name("v1|v2")
      ->check(CLI::IsMember({"v1", "v2"}).description(""));
  command.add_flag("--iterations", arguments->iterations,
                   "Prints the cost table of every improvement");
  add_output_arguments(command, arguments->output);
  add_example(command,
              "shardwright operators autoshard samples/data/autoshard_mlp.json --devices 8");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
