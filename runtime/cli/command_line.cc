#include "runtime/cli/command_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/nearest_name.h"
#include "core/text/printable.h"
#include "core/version.h"
#include "runtime/cli/arguments.h"
#include "runtime/cli/invocation.h"
#include "runtime/cli/machine_limits.h"
#include "runtime/cli/output_paths.h"
#include "runtime/execution/processes/launch.h"
#include "runtime/io/sizes.h"
#include "runtime/report/text/format.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

std::string common_footer() {
  std::string text = "Exit status:";
  for (const commands::OutcomeRow& row : commands::kOutcomes) {
    text += (row.outcome == kDone ? " " : ", ") + std::to_string(row.outcome) + " " + row.meaning;
  }
  text += ".\nInput files may be compressed with gzip. Sizes are bytes, times milliseconds.\n";
  return wrap(text, 80, 0);
}

using Arguments = std::span<char* const>;

// The arguments up to the last known subcommand (`line`), and the arguments after it (`rest`).
struct Understood {
  const CLI::App* command;
  std::string line;  // such as "shardwright operators solve"
  Arguments rest;
};

Understood understand(const CLI::App& app, Arguments arguments) {
  Understood result{&app, app.get_name(), arguments};
  for (;;) {
    const std::vector<const CLI::App*> candidates = result.command->get_subcommands({});
    const auto next = std::find_if(candidates.begin(), candidates.end(),
                                   [](const CLI::App* candidate) { return candidate->parsed(); });
    if (next == candidates.end()) return result;
    result.command = *next;
    result.line += " " + result.command->get_name();
    const auto word =
        std::find_if(result.rest.begin(), result.rest.end(),
                     [&](const char* argument) { return argument == result.command->get_name(); });
    result.rest = {word == result.rest.end() ? word : word + 1, result.rest.end()};
  }
}

// Returns a hint what to use in place of a flag that other tools have; empty if there is no hint.
std::string_view flag_meant(std::string_view word) {
  constexpr std::array<std::array<std::string_view, 2>, 10> kMeant{{
      {"hosts", "give all ranks and the ranks of a host: --ranks 32 --ranks-per-host 8"},
      {"nodes", "give all ranks and the ranks of a host: --ranks 32 --ranks-per-host 8"},
      {"num-nodes", "give all ranks and the ranks of a host: --ranks 32 --ranks-per-host 8"},
      {"gpus", "did you mean --ranks?"},
      {"num-gpus", "did you mean --ranks?"},
      {"world-size", "did you mean --ranks?"},
      {"local-world-size", "did you mean --ranks-per-host?"},
      {"gpus-per-host", "did you mean --ranks-per-host?"},
      {"memory", "did you mean --hbm?"},
      {"hbm-cap", "did you mean --hbm?"},
  }};
  for (const auto& [theirs, ours] : kMeant) {
    if (word == theirs) return ours;
  }
  return "";
}

// Returns a message about the first long option that the command does not know; nullopt if it knows
// all of them.
std::optional<std::string> unknown_option_message(const Understood& understood) {
  std::vector<std::string> known;
  for (const CLI::Option* option : understood.command->get_options()) {
    for (const std::string& name : option->get_lnames())
      known.push_back(name);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string_view argument : understood.rest) {
    const std::string_view name = argument.substr(0, argument.find('='));
    if (name == "--") return std::nullopt;  // only positional arguments follow
    if (!name.starts_with("--")) continue;
    const std::string_view word = name.substr(2);  // dashes would make any two names similar
    if (std::find(names.begin(), names.end(), word) != names.end()) continue;
    const bool has_ranks = std::find(names.begin(), names.end(), "ranks-per-host") != names.end();
    if (const std::string_view meant = flag_meant(word); has_ranks && !meant.empty())
      return "unknown option " + std::string(name) + "; " + std::string(meant);
    const std::string_view near = nearest_name(word, names);
    return "unknown option " + std::string(name) +
           (near.empty() ? "; see " + understood.line + " --help"
                         : "; did you mean --" + std::string(near) + "?");
  }
  return std::nullopt;
}

// Returns the error of a command that needs a subcommand but got none or an unknown one.
std::string subcommand_message(const Understood& understood) {
  std::vector<std::string_view> commands;
  for (const CLI::App* candidate : understood.command->get_subcommands({}))
    commands.push_back(candidate->get_name());
  const auto first =
      std::find_if(understood.rest.begin(), understood.rest.end(),
                   [](std::string_view argument) { return !argument.starts_with('-'); });
  if (first == understood.rest.end() || first != understood.rest.begin()) {
    return unknown_option_message(understood)
        .value_or(understood.line + " needs a subcommand" + suggestion("", commands));
  }
  return "unknown command \"" + std::string(*first) + "\"" + suggestion(*first, commands);
}

// Compares exit codes, because the name of an ExtrasError is that of the command.
bool is_about_extras(const CLI::ParseError& error) {
  return error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
}

// Returns an error if the first unexpected word follows the value of an option, as in "--hbm 80
// GiB" or "--ranks 8 16". Otherwise returns nullopt.
std::optional<std::string> extra_value_message(const Understood& understood,
                                               const CLI::ParseError& error) {
  const std::vector<std::string> extras = understood.command->remaining();
  if (!is_about_extras(error) || extras.empty()) return std::nullopt;
  const auto extra = std::find(understood.rest.begin(), understood.rest.end(), extras.front());
  if (extra - understood.rest.begin() < 2 || extra == understood.rest.end()) return std::nullopt;
  const std::string name = extra[-2], value = extra[-1], word = *extra;
  const CLI::Option* const option = understood.command->get_option_no_throw(name);
  if (!name.starts_with("--") || option == nullptr) return std::nullopt;
  const bool takes_list = option->get_delimiter() == ',';
  std::string message = name + ": takes one value, and \"" + word + "\" follows it; ";
  if (parse_bytes(value + word).ok() && !parse_bytes(word).ok())
    return message + "write " + name + " " + value + word;
  return message + (takes_list ? "write " + name + " " + value + "," + word
                               : "leave it out, or put a value with spaces in quotes");
}

// Returns an error for an option that has no value or more than one; nullopt for other errors.
std::optional<std::string> value_count_message(const Understood& understood,
                                               const CLI::ParseError& error) {
  if (error.get_name() != "ArgumentMismatch") return std::nullopt;
  const std::string_view what = error.what();
  const std::string option(what.substr(0, what.find(':')));
  // CLI11's message is "--mesh: At Most 1 required but received 2".
  if (what.find(": At Most 1 required") != std::string_view::npos)
    return option + ": is given more than once; give it once";
  return option + ": needs a value; see " + understood.line + " --help";
}

// Returns a pointer to --help if an argument is missing or unexpected; otherwise empty.
std::string help_hint(const Understood& understood, const CLI::ParseError& error) {
  const bool about_arguments = error.get_name() == "RequiredError" || is_about_extras(error);
  return about_arguments ? "; see " + understood.line + " --help" : "";
}

// Returns CLI11's message or a better one, such as the nearest known command or option.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error, Arguments arguments) {
  const Understood understood = understand(app, arguments);
  if (!understood.command->get_subcommands({}).empty()) return subcommand_message(understood);
  if (const auto message = unknown_option_message(understood)) return *message;
  if (const auto message = value_count_message(understood, error)) return *message;
  return extra_value_message(understood, error)
      .value_or(std::string(error.what()) + help_hint(understood, error));
}

// Turns `help COMMAND` into `COMMAND --help` and an empty command line into `--help`; removes `all`
// after `--help`. Returns false if advanced flags are hidden: for help without `all`.
bool take_help_request(std::vector<char*>& words) {
  static std::array<char, 7> help{"--help"};
  if (words.size() == 1) words.push_back(help.data());
  if (std::string_view(words[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help.data());
  }
  const auto asked = std::find_if(words.begin(), words.end(), [](std::string_view word) {
    return word == "--help" || word == "-h";
  });
  if (asked == words.end()) return true;
  const auto all = std::find(words.begin() + 1, words.end(), std::string_view("all"));
  if (all == words.end()) return false;
  words.erase(all);
  return true;
}

// Returns the arguments as one would type them into a shell.
std::string line_of(std::span<char* const> arguments) {
  constexpr std::string_view kPlain = "-_=./:,+@%";
  std::string line = "shardwright";
  for (const std::string_view word :
       arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
    const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
             kPlain.find(c) != std::string_view::npos;
    });
    line += ' ';
    if (is_plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word)
      line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

int run(std::span<char*> arguments) {
  Chosen chosen;
  chosen.command_line = line_of(arguments);
  CLI::App app{"Plans how to shard models across accelerators.", "shardwright"};
  app.set_version_flag("--version", "shardwright " + std::string(library_version()));
  app.require_subcommand(1);
  std::vector<char*> words(arguments.begin(), arguments.end());
  const bool shows_advanced = take_help_request(words);
  arguments = words;
  add_commands(app, shows_advanced, chosen);
  add_documentation_commands(app, chosen);
  app.footer(common_footer());
  add_example(app, "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json");
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    const std::string_view first = arguments.size() > 1 ? arguments[1] : "";
    const bool is_unknown =
        !first.empty() && first.front() != '-' &&
        app.get_subcommands([&](const CLI::App* command) { return command->get_name() == first; })
            .empty();
    if (error.get_exit_code() == 0 && !is_unknown)  // --help, --version
      return is_first_process() ? app.exit(error) : kDone;
    const std::string message = usage_message(app, error, arguments.subspan(1));
    return fail({ErrorCode::kInvalidInput, message, ""});
  }
  if (const Status given = check_given_values(app); !given.ok()) return fail(given.error());
  const Status paths = check_paths(app);
  if (!paths.ok()) return fail(paths.error());
  return is_first_process() || chosen.uses_processes ? chosen.run() : kDone;
}

}  // namespace

int run_command(std::span<char*> arguments) {
  try {
    return close_output(run(arguments));
  } catch (...) {
    return fail_of_exception();
  }
}

}  // namespace shardwright::cli
