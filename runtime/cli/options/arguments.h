// The arguments that several commands share, and what they lead to.
#pragma once

#include <functional>
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

// Which command to run, set while the arguments are parsed. Returns the exit status.
using Action = std::function<int()>;

struct ProblemArguments {
  std::string problem_path;
  std::string search_space_path;
  std::string hbm, ddr, device;
  ProblemOverrides overrides;
};

struct OutputArguments {
  std::string path;  // empty = none
  bool json = false;
  int threads = 0;  // 0 = all
  bool verbose = false;

  Log log() const { return verbose ? Log::to_stderr() : Log(); }
};

// A problem as a command works on it.
struct LoadedProblem {
  std::shared_ptr<const embedding::Problem> problem;
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null where none was given
  double read_s = 0;
};

// The file and what overrides it.
void add_problem_arguments(CLI::App& command, ProblemArguments& arguments);
void add_topology_arguments(CLI::App& command, ProblemArguments& arguments);
void add_search_space_argument(CLI::App& command, ProblemArguments& arguments);
void add_stats_argument(CLI::App& command, bool& stats);
void add_output_arguments(CLI::App& command, OutputArguments& arguments);

// The type name of an argument that is a file; choices are written "one|two". Help, completion and
// the manual page follow them.
inline constexpr const char* kFile = "FILE";

// Rows of a list that a report shows; the JSON has all.
inline constexpr std::size_t kMostReportRows = 400;

// Puts an example under the help text of a command, above what all commands say there.
void add_example(CLI::App& command, const std::string& example);

// A number of seconds of at least zero, or above zero.
CLI::Validator seconds(bool zero_allowed);

// What the flags say instead of the file. Errors: kInvalidInput with the flag.
Result<ProblemOverrides> overrides_of(const ProblemArguments& arguments);

Result<LoadedProblem> load_problem(const ProblemArguments& arguments, const Log& log);

// The same error with the file in front of its place.
Error in_file(Error error, const std::string& path);

// JSON to the file or standard output where asked for, else the report to standard output.
// Returns `status` or, where writing fails, the status of that.
int emit(const OutputArguments& arguments, int status,
         const std::function<void(const TextSink&)>& write_json,
         const std::function<std::string(std::size_t width)>& report);

// Whether standard output is a terminal that wants colours (https://no-color.org).
bool wants_colours();

// Says on standard error what the user should know of an answer.
// Says on standard error what the user should know of an answer, or may ask next.
void warn(const std::string& message);
void note(const std::string& message);

// Says on standard error what went wrong. Returns the exit status.
int fail(const Error& error);

}  // namespace shardwright::cli
