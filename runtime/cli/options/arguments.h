// The arguments that several commands share, and how they are applied.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/commands/embedding/problem_request.h"
#include "runtime/execution/log.h"
#include "runtime/execution/processes/launch.h"
#include "runtime/io/embedding/problem/problem_json.h"

namespace shardwright::cli {

// The command to run, set while the arguments are parsed. Returns the exit status.
using Action = std::function<int()>;

struct ProblemArguments {
  std::string problem_path;
  std::string search_space_path;
  std::string hbm, ddr, ssd, device, torchrec;
  std::vector<std::string> group_sizes;  // numbers, or "any"
  std::vector<std::int64_t> pod_sizes;
  ProblemOverrides overrides;
};

struct OutputArguments {
  std::string path;         // empty = none
  std::string report_path;  // of an HTML page; empty = none
  std::string csv_path;     // of a table; empty = none
  bool json = false;
  int threads = 0;  // 0 = all
  bool verbose = false;
  bool progress_line = false;  // show the progress of planning on a terminal

  bool wants_json() const { return json || !path.empty(); }

  Log log() const { return verbose && is_first_process() ? Log::to_stderr() : Log(); }
};

// The problem file and the flags that override it.
void add_problem_arguments(CLI::App& command, ProblemArguments& arguments);
void add_topology_arguments(CLI::App& command, ProblemArguments& arguments);
void add_release_argument(CLI::App& command, ProblemArguments& arguments);
// Sharding groups and pods.
void add_layout_arguments(CLI::App& command, ProblemArguments& arguments, const char* group);
void add_search_space_argument(CLI::App& command, ProblemArguments& arguments);
void add_stats_argument(CLI::App& command, bool& stats);
void add_output_arguments(CLI::App& command, OutputArguments& arguments);

// The type name of an argument that is a file. Choices have a type name such as "one|two". Help,
// completion and the manual page rely on both.
inline constexpr const char* kFile = "FILE";

// Puts an example below the help text of a command, above the footer of all commands. Subcommands
// begin with their parent's footer, so the parent's example comes after they are added.
void add_example(CLI::App& command, const std::string& example);

// Accepts a whole number from `least` to `most`, in digits only: no sign, no exponent, no other
// base, no spaces.
CLI::Validator whole_number(std::uint64_t least,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// The numbers of ranks, samples and devices.
CLI::Validator positive_number();

// Accepts a finite decimal number, at least zero or above zero. `what` follows "a number".
CLI::Validator decimal_number(const std::string& what, bool zero_allowed);

// Accepts one of these words.
CLI::Validator one_of(std::vector<std::string> words);

// Accepts a number of seconds, at least zero or above zero.
CLI::Validator seconds(bool zero_allowed);

// Checks the command that was parsed. Errors: kInvalidInput with an option that was given an empty
// value, which would otherwise mean that it was not given.
Status check_given_values(const CLI::App& app);

// The values that the flags put in place of the file's. Errors: kInvalidInput with the flag.
Result<ProblemOverrides> overrides_of(const ProblemArguments& arguments);

// The problem that the arguments name. Errors: kInvalidInput with the flag.
Result<commands::ProblemRequest> request_of(const ProblemArguments& arguments);

// The bytes of a size; absent if the text is empty. Errors: kInvalidInput at `flag`.
Result<std::optional<std::int64_t>> size_flag(const char* flag, const std::string& text);

// Of several processes that a launcher started, only the first one prints with the functions below.

// Prints a warning about an answer to standard error.
void warn(const std::string& message);
// Prints a hint on what to ask next to standard error.
void note(const std::string& message);

// Prints an error to standard error. Returns the exit status.
int fail(const Error& error);

}  // namespace shardwright::cli
