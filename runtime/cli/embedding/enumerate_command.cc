// shardwright enumerate PROBLEM
#include <memory>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/search_space/search_space_json.h"
#include "runtime/report/embedding/plan/text.h"

namespace shardwright::cli {
namespace {

struct EnumerateArguments {
  ProblemArguments problem;
  OutputArguments output;
  bool runs = false;
};

int run(const EnumerateArguments& arguments) {
  const Log log = arguments.output.log();
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  const auto space = enumerate_embedding(loaded->problem);
  if (!space.ok()) return fail(in_file(space.error(), arguments.problem.problem_path));
  log.info("enumerated " + std::to_string((*space)->size()) + " sharding options");
  const ShardForm form = arguments.runs ? ShardForm::kRuns : ShardForm::kExpanded;
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_search_space(**space, form, sink); },
      [&](std::size_t width) {
        TextReportOptions report;
        report.width = width;
        return text_report(**space, report);
      });
}

}  // namespace

void add_enumerate_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EnumerateArguments>();
  CLI::App& command = *app.add_subcommand(
      "enumerate", "Lists the sharding options of every table with their costs");
  add_problem_arguments(command, arguments->problem);
  command.add_flag("--runs", arguments->runs,
                   "Write equal neighbouring shards as one entry with `count`");
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright enumerate my_tables.json --ranks 16 --runs -o options.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
