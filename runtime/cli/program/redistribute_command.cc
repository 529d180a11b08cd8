#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/cli/report/report_argument.h"
#include "runtime/io/file.h"
#include "runtime/io/program/redistribution/redistribution_json.h"
#include "runtime/report/program/redistribution_text.h"

namespace shardwright::cli {
namespace {

struct RedistributeArguments {
  std::string path;
  std::string report_path;
  bool front = false;
  OutputArguments output;
};

using Paths = std::vector<PlannedRedistribution>;

Result<Paths> find_paths(const RedistributionCase& request, const RedistributionOptions& options,
                         bool front) {
  if (front) return plan_redistribution_front(request, options);
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlannedRedistribution cheapest,
                               plan_redistribution(request, options));
  return Paths{std::move(cheapest)};
}

int run_redistribute(const RedistributeArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const Result<RedistributionDocument> document = read_redistribution(*text);
  if (!document.ok()) return fail(in_file(document.error(), arguments.path));
  const InterruptGuard interrupt;
  RedistributionOptions options = document->options;
  options.stop = interrupt.token();
  const RedistributionCase& request = document->request;
  const Result<Paths> paths = find_paths(request, options, arguments.front);
  if (!paths.ok()) return fail(in_file(paths.error(), arguments.path));
  const Status reported = write_report(arguments.report_path, request, options, *paths);
  if (!reported.ok()) return fail(reported.error());
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) {
        arguments.front ? write_redistribution_front(*document, *paths, sink)
                        : write_redistribution(*document, paths->front(), sink);
      },
      [&](std::size_t width) {
        return arguments.front ? redistribution_front_text(request, *paths, width)
                               : redistribution_text(request, paths->front(), width);
      });
}

}  // namespace

void add_redistribute_command(CLI::App& program, Action& chosen) {
  auto redistribute = std::make_shared<RedistributeArguments>();
  CLI::App& command = *program.add_subcommand(
      "redistribute", "Finds the cheapest way of one tensor from one placement to another");
  command.add_option("REDISTRIBUTION", redistribute->path, "Redistribution file (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_flag("--front", redistribute->front,
                   "Also list the paths that no other one beats in both time and memory");
  add_report_argument(command, redistribute->report_path);
  add_output_arguments(command, redistribute->output);
  add_example(command, "shardwright program redistribute samples/data/redistribution.json");
  command.callback([redistribute, &chosen] {
    chosen = [redistribute] { return run_redistribute(*redistribute); };
  });
}

}  // namespace shardwright::cli
