// The arguments that several commands share, and what they do.
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
  std::string command_line;
  std::string path;         // of the JSON; empty = none
  std::string report_path;  // of an HTML page; empty = none
  std::string csv_path;     // of a table; empty = none
  bool json = false;
  bool verbose = false;
  bool progress_line = false;  // on a terminal

  bool wants_json() const { return json || !path.empty(); }

  Log log() const { return verbose && is_first_process() ? Log::to_stderr() : Log(); }
};

// Type name of an argument that is a file. An argument that is a choice has a type name such as
// "one|two". Help, completion and the manual page use these names.
inline constexpr const char* kFile = "FILE";

// Adds an example to the help text of a command, above the footer that all commands share. A new
// subcommand copies its parent's footer, so call this for the parent after adding its subcommands.
void add_example(CLI::App& command, const std::string& example);

// Returns a validator that accepts one of `words`.
CLI::Validator one_of(std::vector<std::string> words);

// Checks the parsed command. Errors: kInvalidInput at an option whose value is empty: an empty
// value would be treated as an absent option.
Status check_given_values(const CLI::App& app);

// If a launcher started several processes, the functions below print only in the first one.

// Prints a warning about an answer to standard error.
void warn(const std::string& message);
// Prints a hint for the next question to standard error.
void note(const std::string& message);

// Prints an error to standard error. Returns the exit status.
int fail(const Error& error);

}  // namespace shardwright::cli
