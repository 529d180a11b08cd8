#include "runtime/cli/invocation.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/cli/answering.h"
#include "runtime/cli/request_flags.h"
#include "runtime/surface/pages.h"

namespace shardwright::cli {
namespace {

using commands::Command;
using commands::CommandGroup;

void add_output_flags(CLI::App& command, Invocation& invocation) {
  OutputArguments& output = invocation.output;
  if (invocation.command.has_page && commands::has_pages()) {
    command
        .add_option("--report", output.report_path, "Write a report as one HTML page to this file")
        ->type_name(kFile);
  }
  if (invocation.command.has_csv) {
    command
        .add_option("--csv", output.csv_path,
                    "Write the answer as comma-separated values to this file (- = stdout)")
        ->type_name(kFile);
  }
  command.add_option("-o,--output", output.path, "Write JSON to this file (- = stdout)")
      ->type_name(kFile);
  command.add_flag("--json", output.json, "Write JSON to stdout instead of a report");
  command.add_flag("-v,--verbose", output.verbose, "Log to stderr");
}

// Adds --threads without effect, so that scripts can pass the same flags to all commands.
void add_unused_threads(CLI::App& command) {
  static commands::Fields unused;
  static int threads = 0;
  if (unused.all().empty()) {
    unused.count("threads", threads, "No effect: the command uses one thread", 0,
                 commands::kMostThreads);
  }
  add_flags(command, unused);
}

int run(const std::shared_ptr<Invocation>& invocation) {
  if (const Status set = set_members(invocation->request->fields); !set.ok())
    return fail(set.error());
  if (!invocation->command.uses_processes) return respond(*invocation, nullptr);
  Result<ProcessGroup> joined = ProcessGroup::join();
  if (!joined.ok()) return fail(joined.error());
  ProcessGroup group = std::move(joined).value();
  return group.finish(invocation->run ? invocation->run(group) : respond(*invocation, &group));
}

// Refuses to replace an existing file.
Status check_new(const OutputArguments& output) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(output.path, error)) return {};
  return invalid_input("--output",
                       output.path + " exists already; name another file, or remove it");
}

void add_command(CLI::App& app, const Command& command, bool shows_advanced, Chosen& chosen) {
  const auto invocation =
      std::make_shared<Invocation>(Invocation{command, command.make(), OutputArguments(), nullptr});
  invocation->output.progress_line = command.shows_progress;
  const std::size_t space = command.name.find(' ');
  CLI::App& parent = space == std::string_view::npos
                         ? app
                         : *app.get_subcommand(std::string(command.name.substr(0, space)));
  const std::string name(command.name.substr(space == std::string_view::npos ? 0 : space + 1));
  CLI::App& added = *parent.add_subcommand(name, std::string(command.help));
  if (command.name == "plan") extend_plan(*invocation);
  if (command.name == "operators solve") extend_solve(*invocation);
  add_flags(added, invocation->request->fields, shows_advanced);
  if (invocation->request->fields.find("threads") == nullptr) add_unused_threads(added);
  add_output_flags(added, *invocation);
  const auto& all = invocation->request->fields.all();
  if (!shows_advanced && std::any_of(all.begin(), all.end(), [](const commands::Field& field) {
        return field.is_advanced;
      }))
    added.footer("`shardwright " + std::string(command.name) + " --help all` lists all flags.");
  add_example(added, std::string(command.example));
  added.callback([invocation, &chosen] {
    invocation->output.command_line = chosen.command_line;
    chosen.run = [invocation] { return run(invocation); };
    chosen.uses_processes = invocation->command.uses_processes;
  });
}

}  // namespace

int respond(const Invocation& invocation, ProcessGroup* group,
            const std::function<void(commands::Watch&)>& watch) {
  if (invocation.command.name == "init") {
    if (const Status checked = check_new(invocation.output); !checked.ok())
      return fail(checked.error());
  }
  return respond_with(
      invocation.output, group, [&](commands::Watch given) -> Result<commands::Answer> {
        if (watch) watch(given);
        const commands::Fields& fields = invocation.request->fields;
        given.note = [&fields](const std::string& text) { note(in_flags(text, fields)); };
        Result<commands::Answer> found = invocation.request->ask(given);
        if (!found.ok()) return in_flags(found.error(), fields);
        commands::Answer answer = std::move(found).value();
        for (std::string& warning : answer.warnings)
          warning = in_flags(warning, fields);
        return answer;
      });
}

void add_commands(CLI::App& app, bool shows_advanced, Chosen& chosen) {
  std::set<std::string_view> added;
  for (const Command& command : commands::commands()) {
    for (const CommandGroup& group : commands::command_groups()) {
      if (!command.name.starts_with(group.name) || !added.insert(group.name).second) continue;
      app.add_subcommand(std::string(group.name), std::string(group.help))->require_subcommand(1);
    }
    add_command(app, command, shows_advanced, chosen);
  }
  for (const CommandGroup& group : commands::command_groups())
    add_example(*app.get_subcommand(std::string(group.name)), std::string(group.example));
}

}  // namespace shardwright::cli
