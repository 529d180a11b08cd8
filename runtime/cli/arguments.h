// The arguments that several commands share, and how they are applied.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/execution/log.h"
#include "runtime/execution/processes/launch.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {

using enum commands::Outcome;
using commands::outcome_of;

struct OutputArguments {
  std::string path;         // empty = none
  std::string report_path;  // of an HTML page; empty = none
  std::string csv_path;     // of a table; empty = none
  bool json = false;
  bool verbose = false;
  bool progress_line = false;  // show the progress of planning on a terminal

  bool wants_json() const { return json || !path.empty(); }

  Log log() const { return verbose && is_first_process() ? Log::to_stderr() : Log(); }
};

// The type name of an argument that is a file. Choices have a type name such as "one|two". Help,
// completion and the manual page rely on both.
inline constexpr const char* kFile = "FILE";

// Adds an example below the help text of a command, above the footer that all commands share. A new
// subcommand copies its parent's footer, so add the parent's example after its subcommands.
void add_example(CLI::App& command, const std::string& example);

// Accepts one of these words.
CLI::Validator one_of(std::vector<std::string> words);

// Checks the parsed command. Errors: kInvalidInput at an option with an empty value, which the rest
// of the program would take for an absent option.
Status check_given_values(const CLI::App& app);

// Of several processes that a launcher started, only the first one prints with the functions below.

// Prints a warning about an answer to standard error.
void warn(const std::string& message);
// Prints a hint on what to ask next to standard error.
void note(const std::string& message);

// Prints an error to standard error. Returns the exit status.
int fail(const Error& error);

}  // namespace shardwright::cli
