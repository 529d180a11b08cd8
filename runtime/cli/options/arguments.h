// The arguments that several commands share, and how they are applied.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/execution/log.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "runtime/io/text_sink.h"

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
  std::string path;  // empty = none
  bool json = false;
  int threads = 0;  // 0 = all
  bool verbose = false;

  Log log() const { return verbose ? Log::to_stderr() : Log(); }
};

// A problem file, read.
struct LoadedProblem {
  std::shared_ptr<const embedding::Problem> problem;
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null if none was given
  double read_s = 0;
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

// Most rows of a list in a report; the JSON has all rows.
inline constexpr std::size_t kMostReportRows = 400;

// Puts an example below the help text of a command, above the footer of all commands.
void add_example(CLI::App& command, const std::string& example);

// Accepts a whole number from `least` to `most`, in digits only: no sign, no exponent, no other
// base, no spaces.
CLI::Validator whole_number(std::uint64_t least,
                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// The numbers of ranks, samples and devices.
CLI::Validator positive_number();

// Accepts a finite decimal number, at least zero or above zero. `what` follows "a number".
CLI::Validator decimal_number(const std::string& what, bool zero_allowed);

// Accepts a number of seconds, at least zero or above zero.
CLI::Validator seconds(bool zero_allowed);

// Checks the command that was parsed. Errors: kInvalidInput with an option that was given an empty
// value, which would otherwise mean that it was not given.
Status check_given_values(const CLI::App& app);

// The values that the flags put in place of the file's. Errors: kInvalidInput with the flag.
Result<ProblemOverrides> overrides_of(const ProblemArguments& arguments);

Result<LoadedProblem> load_problem(const ProblemArguments& arguments, const Log& log);

// The same error, with the file before its place.
Error in_file(Error error, const std::string& path);

// Writes JSON to the file or standard output if the user asked for it, else the report to standard
// output. What is written to a file is said on standard error, in one line with the `summary`.
// Returns `status`, or the status of a failure to write.
int emit(const OutputArguments& arguments, int status,
         const std::function<void(const TextSink&)>& write_json,
         const std::function<std::string(std::size_t width)>& report,
         const std::string& summary = "");

// Returns true if standard output is a terminal and NO_COLOR is unset (https://no-color.org).
bool wants_colours();

// Prints a warning about an answer to standard error.
void warn(const std::string& message);
// Prints a hint on what to ask next to standard error.
void note(const std::string& message);

// Prints an error to standard error. Returns the exit status.
int fail(const Error& error);

}  // namespace shardwright::cli
