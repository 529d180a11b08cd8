#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/cli/program/program_report.h"
#include "runtime/io/file.h"
#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::cli {
namespace {

struct ProgramArguments {
  std::string path;
  OutputArguments output;
  bool compat = false;
  bool legacy_sync = false;
  bool whole = false;
  std::string startup_path;
  std::optional<std::int64_t> batch_size;
};

program::SyncMode sync_mode(const ProgramArguments& arguments) {
  return arguments.legacy_sync ? program::SyncMode::kPerInsert : program::SyncMode::kPerCommit;
}

int run_reshard(const ProgramArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  const Result<std::vector<ReshardCaseDocument>> cases = read_reshard_cases(*text);
  if (!cases.ok()) return fail(in_file(cases.error(), arguments.path));
  std::vector<TensorReshard> answers;
  for (std::size_t i = 0; i < cases->size(); ++i) {
    TensorReshardOptions options;
    options.compat = arguments.compat;
    options.mesh_steps = (*cases)[i].on_mesh;
    options.sync = sync_mode(arguments);
    Result<TensorReshard> answer = reshard_tensor((*cases)[i].request, options);
    if (!answer.ok()) {
      Error error = answer.error();
      error.where = "/" + std::to_string(i) + error.where;
      return fail(in_file(std::move(error), arguments.path));
    }
    answers.push_back(std::move(answer).value());
  }
  return emit(
      arguments.output, kDone, [&](const TextSink& sink) { write_reshards(*cases, answers, sink); },
      [&](std::size_t width) { return reshard_report(*cases, answers, width); });
}

// Returns one startup program for each program; a file with one serves for all. Empty without
// --startup.
Result<std::vector<program::Program>> read_startups(const ProgramArguments& arguments,
                                                    std::size_t programs) {
  std::vector<program::Program> startups;
  if (arguments.startup_path.empty()) return startups;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.startup_path));
  Result<std::vector<ProgramDocument>> documents = read_programs(text);
  if (!documents.ok()) return in_file(documents.error(), arguments.startup_path);
  if (documents->size() != 1 && documents->size() != programs) {
    return invalid_input("/programs",
                         "must have one program, or as many as there are main programs");
  }
  for (std::size_t i = 0; i < programs; ++i) {
    startups.push_back((*documents)[documents->size() == 1 ? 0 : i].program);
  }
  return startups;
}

int run_apply(const ProgramArguments& arguments) {
  const Result<std::string> text = read_file(arguments.path);
  if (!text.ok()) return fail(text.error());
  Result<std::vector<ProgramDocument>> programs = read_programs(*text);
  if (!programs.ok()) return fail(in_file(programs.error(), arguments.path));
  const auto startups = read_startups(arguments, programs->size());
  if (!startups.ok()) return fail(startups.error());
  const InterruptGuard interrupt;
  std::vector<std::pair<ProgramDocument, program::ReshardResult>> results;
  for (const ProgramDocument& document : *programs) {
    program::ReshardOptions options;
    options.compat = arguments.compat;
    options.sync = sync_mode(arguments);
    options.whole = arguments.whole;
    options.batch_size = arguments.batch_size;
    options.ranks = document.ranks;
    if (!startups->empty()) options.startup = (*startups)[results.size()];
    options.stop = interrupt.token();
    Result<program::ReshardResult> result =
        reshard_program(document.program, options, arguments.output.threads);
    if (!result.ok()) {
      Error error = result.error();
      error.where = document.place + error.where;
      return fail(in_file(std::move(error), arguments.path));
    }
    results.emplace_back(document, std::move(result).value());
  }
  return emit(
      arguments.output, kDone, [&](const TextSink& sink) { write_programs(results, sink); },
      [&](std::size_t width) { return apply_report(results, width); });
}

void add_common(CLI::App& command, ProgramArguments& arguments) {
  command.add_flag("--compat", arguments.compat,
                   "Plan as Paddle does, instead of the cheapest way known");
  command.add_flag("--legacy-sync", arguments.legacy_sync,
                   "Count a synchronisation before every inserted operator, as in Paddle");
  add_output_arguments(command, arguments.output);
}

}  // namespace

void add_program_command(CLI::App& app, Action& chosen) {
  CLI::App& command = *app.add_subcommand(
      "program", "Inserts the communication that a program's placements require");
  command.require_subcommand(1);

  auto reshard = std::make_shared<ProgramArguments>();
  CLI::App& reshard_command = *command.add_subcommand(
      "reshard", "Plans how a tensor gets from one placement to another, rank by rank");
  reshard_command.add_option("CASES", reshard->path, "List of cases (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_common(reshard_command, *reshard);
  add_example(reshard_command, "shardwright program reshard samples/data/reshard.json");
  reshard_command.callback(
      [reshard, &chosen] { chosen = [reshard] { return run_reshard(*reshard); }; });

  auto apply = std::make_shared<ProgramArguments>();
  CLI::App& apply_command = *command.add_subcommand("apply", "Makes the program of every rank");
  apply_command.add_option("PROGRAM", apply->path, "Program file (- = stdin)")
      ->type_name(kFile)
      ->required();
  CLI::Option* const full = apply_command.add_flag(
      "--full", apply->whole, "Also reshard outputs, and remove what a rank does not need");
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
  add_example(command, "shardwright program apply samples/data/program.json --full");
  apply_command.callback([apply, &chosen] { chosen = [apply] { return run_apply(*apply); }; });
  add_redistribute_command(command, chosen);
  add_transfer_command(command, chosen);
}

}  // namespace shardwright::cli
