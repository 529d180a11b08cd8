#include <memory>
#include <string>
#include <utility>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/cli/program/redistribute_report.h"
#include "runtime/io/file.h"
#include "runtime/io/program/redistribution/redistribution_json.h"

namespace shardwright::cli {
namespace {

struct RedistributeArguments {
  std::string path;
  OutputArguments output;
};

int run_redistribute(const RedistributeArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  Result<RedistributionDocument> document = read_redistribution(*text);
  if (!document.ok()) return fail(in_file(document.error(), arguments.path));
  const InterruptGuard interrupt;
  RedistributionOptions options = document->options;
  options.stop = interrupt.token();
  const Result<PlannedRedistribution> answer = plan_redistribution(document->request, options);
  if (!answer.ok()) return fail(in_file(answer.error(), arguments.path));
  return emit(
      arguments.output, kDone,
      [&](const TextSink& sink) { write_redistribution(*document, *answer, sink); },
      [&](std::size_t width) { return redistribute_report(*document, *answer, width); });
}

}  // namespace

void add_redistribute_command(CLI::App& program, Action& chosen) {
  auto redistribute = std::make_shared<RedistributeArguments>();
  CLI::App& command = *program.add_subcommand(
      "redistribute", "Finds the cheapest way of one tensor from one placement to another");
  command.add_option("REDISTRIBUTION", redistribute->path, "Redistribution file (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_output_arguments(command, redistribute->output);
  add_example(command, "shardwright program redistribute samples/data/redistribution.json");
  command.callback([redistribute, &chosen] {
    chosen = [redistribute] { return run_redistribute(*redistribute); };
  });
}

}  // namespace shardwright::cli
