// shardwright init [KIND], shardwright schema [KIND], shardwright report ANSWER
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/files/files_commands.h"
#include "runtime/commands/files/file_kinds.h"
#include "runtime/commands/files/files_commands.h"

namespace shardwright::cli {
namespace {

template <class Request>
struct FileArguments {
  Request request;
  OutputArguments output;
};

// "problem|plan|...", which completion offers.
std::string kind_names(bool with_sample) {
  std::string names;
  for (const commands::FileKind& kind : commands::file_kinds()) {
    if (with_sample && kind.sample.empty()) continue;
    names += (names.empty() ? "" : "|") + std::string(kind.name);
  }
  return names;
}

void add_output_argument(CLI::App& command, OutputArguments& output) {
  command.add_option("-o,--output", output.path, "Write to this file (- = stdout)")
      ->type_name(kFile);
}

int init(const FileArguments<commands::InitRequest>& arguments) {
  std::error_code error;
  if (std::filesystem::is_regular_file(arguments.output.path, error)) {
    return fail(invalid_input(
        "--output", arguments.output.path + " exists already; name another file, or remove it"));
  }
  return respond(arguments.output, Result<commands::InitRequest>(arguments.request));
}

}  // namespace

void add_init_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<FileArguments<commands::InitRequest>>();
  CLI::App& command =
      *app.add_subcommand("init", "Writes a commented file to begin with: a problem, a graph, ...");
  command.add_option("KIND", arguments->request.kind, "Kind of file (default: problem)")
      ->type_name(kind_names(true));
  add_output_argument(command, arguments->output);
  add_example(command, "shardwright init -o problem.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return init(*arguments); }; });
}

void add_schema_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<FileArguments<commands::SchemaRequest>>();
  CLI::App& command = *app.add_subcommand(
      "schema", "Prints the JSON Schema of a kind of file, or lists the kinds of files");
  command.add_option("KIND", arguments->request.kind, "Kind of file (default: list all kinds)")
      ->type_name(kind_names(false));
  add_output_argument(command, arguments->output);
  command.add_flag("--json", arguments->output.json, "Write the list of kinds as JSON");
  add_example(command, "shardwright schema problem -o problem.schema.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] {
      return respond(arguments->output, Result<commands::SchemaRequest>(arguments->request));
    };
  });
}

void add_report_command(CLI::App& app, Action& chosen) {
  struct ReportArguments {
    std::string path;
    OutputArguments output;
  };
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App& command = *app.add_subcommand(
      "report", "Shows an answer that another command wrote as JSON, as text or as a page");
  command.add_option("ANSWER", arguments->path, "What a command wrote with -o (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_report_argument(command, arguments->output);
  add_output_arguments(command, arguments->output);
  add_example(command,
              "shardwright program transfer samples/data/transfer.json -o transfer_plan.json\n"
              "  shardwright report transfer_plan.json --report transfer.html");
  command.callback([arguments, &chosen] {
    chosen = [arguments] {
      return respond(arguments->output, Result<commands::ReportRequest>(commands::ReportRequest{
                                            commands::Input::file(arguments->path)}));
    };
  });
}

}  // namespace shardwright::cli
