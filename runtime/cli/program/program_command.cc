#include <memory>
#include <optional>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/commands/program/program_commands.h"

namespace shardwright::cli {
namespace {

struct ReshardArguments {
  std::string path;
  bool compat = false;
  bool legacy_sync = false;
  OutputArguments output;
};

struct ApplyArguments : ReshardArguments {
  bool full = false;
  std::string startup_path;
  std::optional<std::int64_t> batch_size;
};

Result<commands::ReshardRequest> request_of(const ReshardArguments& arguments) {
  return commands::ReshardRequest{commands::Input::file(arguments.path), arguments.compat,
                                  arguments.legacy_sync};
}

Result<commands::ApplyRequest> request_of(const ApplyArguments& arguments) {
  commands::ApplyRequest request;
  request.program = commands::Input::file(arguments.path);
  request.startup = commands::Input::file(arguments.startup_path);
  request.compat = arguments.compat;
  request.legacy_sync = arguments.legacy_sync;
  request.full = arguments.full;
  request.batch_size = arguments.batch_size;
  request.threads = arguments.output.threads;
  return request;
}

void add_common(CLI::App& command, ReshardArguments& arguments) {
  command.add_flag("--compat", arguments.compat,
                   "Plan as Paddle does, instead of the cheapest way known");
  command.add_flag("--legacy-sync", arguments.legacy_sync,
                   "Count a synchronisation before every inserted operator, as in Paddle");
  add_output_arguments(command, arguments.output);
  add_report_argument(command, arguments.output);
}

}  // namespace

void add_program_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "program", "Inserts the communication that a program's placements require");
  command.require_subcommand(1);

  auto reshard = std::make_shared<ReshardArguments>();
  CLI::App& reshard_command = *command.add_subcommand(
      "reshard", "Plans how a tensor gets from one placement to another, rank by rank");
  reshard_command.add_option("CASES", reshard->path, "List of cases (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_common(reshard_command, *reshard);
  add_example(reshard_command, "shardwright program reshard samples/data/reshard.json");
  reshard_command.callback([reshard, &chosen] {
    chosen = [reshard] { return respond(reshard->output, request_of(*reshard)); };
  });

  auto apply = std::make_shared<ApplyArguments>();
  CLI::App& apply_command = *command.add_subcommand("apply", "Makes the program of every rank");
  apply_command.add_option("PROGRAM", apply->path, "Program file (- = stdin)")
      ->type_name(kFile)
      ->required();
  CLI::Option* const full = apply_command.add_flag(
      "--full", apply->full, "Also reshard outputs, and remove what a rank does not need");
  apply_command
      .add_option("--startup", apply->startup_path,
                  "Startup program; a rank keeps what its main program needs")
      ->type_name(kFile)
      ->needs(full);
  apply_command
      .add_option("--batch-size", apply->batch_size, "Size of batch dimensions written as -1")
      ->transform(positive_number());
  add_common(apply_command, *apply);
  add_example(apply_command,
              "shardwright program apply samples/data/program.json --full -o ranks.json");
  apply_command.callback([apply, &chosen] {
    chosen = [apply] { return respond(apply->output, request_of(*apply)); };
  });
  add_redistribute_command(command, chosen);
  add_transfer_command(command, chosen);
  add_example(command, "shardwright program apply samples/data/program.json --full");
}

}  // namespace shardwright::cli
