// shardwright operators solve INSTANCE
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/commands/operators/operators_commands.h"
#include "runtime/execution/processes/launch.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/operators/instance/contest_json.h"
#include "runtime/io/sizes.h"
#include "runtime/operators/solve.h"

namespace shardwright::cli {
namespace {

using operators::OperatorProblem;
using operators::SolveStatus;

constexpr const char* kContestFormat = "iopddl-contest";

struct SolveArguments {
  std::string path;
  std::string format = "auto";
  std::optional<double> timeout_s;  // of the contest form
  std::string budget;
  bool unmerged = false;
  OperatorsOptions options;
  OutputArguments output;

  bool contest() const { return format == kContestFormat; }
};

// Reads bytes, or a size with a unit.
Result<std::int64_t> budget_of(const std::string& text) {
  std::int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto converted = std::from_chars(text.data(), end, bytes);
  if (converted.ec == std::errc{} && converted.ptr == end && bytes >= 0) return bytes;
  Result<std::int64_t> size = parse_bytes(text);
  if (!size.ok()) return invalid_input("--budget", size.error().message);
  return size;
}

Result<std::optional<std::int64_t>> given_budget(const SolveArguments& arguments) {
  if (arguments.budget.empty()) return std::optional<std::int64_t>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t budget, budget_of(arguments.budget));
  return std::optional(budget);
}

OperatorsOptions options_of(const SolveArguments& arguments) {
  OperatorsOptions options = arguments.options;
  options.threads = arguments.output.threads;
  return options;
}

Result<commands::SolveRequest> request_of(const SolveArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> budget, given_budget(arguments));
  return commands::SolveRequest{commands::Input::file(arguments.path), budget, arguments.unmerged,
                                options_of(arguments)};
}

Result<OperatorProblem> load_contest(const SolveArguments& arguments, const Crew& crew) {
  const commands::Input input = commands::Input::file(arguments.path);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::optional<std::int64_t> budget, given_budget(arguments));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const std::string text, input.read([&](const std::string& path) { return crew.read(path); }));
  Result<operators::CostInstance> instance = read_contest_instance(text, budget);
  if (!instance.ok()) return input.locate(instance.error());
  return OperatorProblem(operators::LoweredInstance(std::move(instance).value()));
}

void print_choice(const std::vector<std::uint32_t>& choice) {
  std::string line = "[";
  for (std::size_t n = 0; n < choice.size(); ++n)
    line += (n == 0 ? "" : ", ") + std::to_string(choice[n]);
  line += "]\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

// Prints better choices as they are found, so that the last one is there if the process is killed.
// Prints at intervals, because a line may be long.
// Thread safety: one thread at a time.
class ChoiceLines {
 public:
  void show(const OperatorsProgress& progress) {
    constexpr double kIntervalSeconds = 0.1;
    if (progress.choice.empty() || progress.choice == printed_) return;
    if (!printed_.empty() && progress.elapsed_s - last_s_ < kIntervalSeconds) return;
    last_s_ = progress.elapsed_s;
    print(progress.choice);
  }

  void finish(const std::vector<std::uint32_t>& choice) {
    if (!choice.empty() && choice != printed_) print(choice);
  }

 private:
  void print(const std::vector<std::uint32_t>& choice) {
    print_choice(choice);
    printed_ = choice;
  }

  std::vector<std::uint32_t> printed_;
  double last_s_ = 0;
};

// The contest's time that is left after reading, less a reserve for writing and exiting.
double contest_seconds(double timeout_s, double elapsed_s) {
  constexpr double kReserveSeconds = 0.5;
  constexpr double kReserveShare = 0.005;
  constexpr double kLargestShare = 0.25;
  const double reserve_s =
      std::min(kReserveSeconds + kReserveShare * timeout_s, kLargestShare * timeout_s);
  return std::max(0.0, timeout_s - elapsed_s - reserve_s);
}

int run_contest(const SolveArguments& arguments, Crew& crew) {
  const Stopwatch watch;
  const InterruptGuard interrupt;
  const Result<OperatorProblem> problem = load_contest(arguments, crew);
  if (!problem.ok()) return fail(problem.error());
  ChoiceLines lines;
  OperatorsOptions options = options_of(arguments);
  options.stop = crew.heed(interrupt.token());
  options.exchange = crew.exchange();
  if (is_first_process())
    options.on_progress = [&](const OperatorsProgress& progress) { lines.show(progress); };
  if (arguments.timeout_s) {
    options.time_limit_s = contest_seconds(*arguments.timeout_s, watch.seconds());
  }
  const Result<OperatorsResult> result = solve_operators(*problem, options);
  if (!result.ok()) return fail(result.error());
  if (!is_first_process()) return kDone;
  lines.finish(result->choice);
  if (result->choice.empty()) {
    return fail(Error{
        result->status == SolveStatus::kInfeasible ? ErrorCode::kInfeasible : ErrorCode::kStopped,
        result->shortage                             ? shortage_text(*result->shortage)
        : result->status == SolveStatus::kInfeasible ? "no choice keeps the usage limit"
                                                     : "the time ended before any choice was found",
        arguments.path});
  }
  return kDone;
}

int solve_with(const SolveArguments& arguments, Crew& crew) {
  if (arguments.contest()) return run_contest(arguments, crew);
  if (arguments.timeout_s) {
    return fail(invalid_input("TIMEOUT", "belongs to --format iopddl-contest; use --time-limit"));
  }
  const Result<commands::SolveRequest> request = request_of(arguments);
  if (!request.ok()) return fail(request.error());
  return respond_with(arguments.output, &crew,
                      [&](const commands::Watch& watch) { return answer(*request, watch); });
}

int run(const SolveArguments& arguments) {
  Result<Crew> joined = Crew::join();
  if (!joined.ok()) return fail(joined.error());
  Crew crew = std::move(joined).value();
  return crew.finish(solve_with(arguments, crew));
}

}  // namespace

void add_operators_solve_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<SolveArguments>();
  CLI::App& command = *operators.add_subcommand(
      "solve", "Finds the cheapest choice of strategies within the memory that there is");
  command
      .add_option("INSTANCE", arguments->path,
                  "Cost instance in ColossalAI's, XLA's or the contest's form (- = stdin)")
      ->type_name(kFile)
      ->required();
  command
      .add_option("TIMEOUT", arguments->timeout_s,
                  "With --format iopddl-contest: seconds for everything, reading included")
      ->check(seconds(false));
  command
      .add_option(
          "--format", arguments->format,
          "iopddl-contest: the last line of stdout is the list of chosen strategies, as the "
          "contest wants it")
      ->check(one_of({"auto", kContestFormat}))
      ->type_name("auto|iopddl-contest");
  command.add_option("--budget", arguments->budget,
                     "Memory, in bytes or such as 16GiB (default: what the file says)");
  command.add_flag("--unmerged", arguments->unmerged,
                   "Solve the graph before its operators were merged");
  command
      .add_option("--time-limit", arguments->options.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments->options.work_limit,
                  "Stop after this many strategy evaluations")
      ->transform(whole_number(0));
  command.add_option("--seed", arguments->options.seed, "Seed of everything random")
      ->transform(whole_number(0));
  add_output_arguments(command, arguments->output);
  add_example(
      command,
      "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json\n"
      "  shardwright operators solve instance.json --budget 400MB");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
