// Parts of `shardwright operators solve` that only the command line has: the contest's format.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cli/interrupt.h"
#include "runtime/cli/invocation.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/operators/contest_json.h"
#include "runtime/operators/solve.h"
#include "runtime/surface/operators_requests.h"
#include "runtime/surface/outcome.h"

namespace shardwright::cli {
namespace {

using commands::SolveRequest;
using operators::OperatorProblem;
using operators::SolveStatus;

enum class Form { kOurs, kContest };
constexpr std::array<std::string_view, 2> kForms{"auto", "iopddl-contest"};

struct SolveFlags {
  Form format = Form::kOurs;
  std::optional<double> timeout_s;  // of the contest's format
};

Result<OperatorProblem> load_contest(const SolveRequest& request, const ProcessGroup& group) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const std::string text,
      request.instance.read([&](const std::string& path) { return group.read(path); }));
  Result<operators::CostInstance> instance = read_contest_instance(text, request.budget);
  if (!instance.ok()) return request.instance.locate(instance.error());
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

// Prints better choices as they are found, so that the last one is printed if the process is
// killed. Lines may be long, so a line is printed at most every 0.1 s.
// Thread safety: one thread at a time.
class ChoiceLines {
 public:
  void show(const OperatorsProgress& progress) {
    constexpr double kSecondsBetweenLines = 0.1;
    if (progress.choice.empty() || progress.choice == printed_) return;
    if (!printed_.empty() && progress.elapsed_s - last_s_ < kSecondsBetweenLines) return;
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

// Returns the seconds of the contest's time limit that remain for the search: the limit without the
// time for reading and a reserve for writing and exiting.
double contest_seconds(double timeout_s, double elapsed_s) {
  constexpr double kReserveSeconds = 0.5;
  constexpr double kReserveShare = 0.005;
  constexpr double kLargestShare = 0.25;
  const double reserve_s =
      std::min(kReserveSeconds + kReserveShare * timeout_s, kLargestShare * timeout_s);
  return std::max(0.0, timeout_s - elapsed_s - reserve_s);
}

int run_contest(const SolveRequest& request, std::optional<double> timeout_s, ProcessGroup& group) {
  const Stopwatch watch;
  const InterruptGuard interrupt;
  const Result<OperatorProblem> problem = load_contest(request, group);
  if (!problem.ok()) return fail(problem.error());
  ChoiceLines lines;
  OperatorsOptions options = request.options;
  options.stop = group.heed(interrupt.token());
  options.exchange = group.exchange();
  if (is_first_process())
    options.on_progress = [&](const OperatorsProgress& progress) { lines.show(progress); };
  if (timeout_s) {
    options.time_limit_s = contest_seconds(*timeout_s, watch.seconds());
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
        request.instance.name()});
  }
  return kDone;
}

int run(const Invocation& invocation, const SolveFlags& flags, ProcessGroup& group) {
  const auto& asked =
      static_cast<const commands::RequestOf<SolveRequest>&>(*invocation.request).request;
  if (flags.format == Form::kContest) return run_contest(asked, flags.timeout_s, group);
  if (flags.timeout_s)
    return fail(invalid_input("TIMEOUT", "belongs to --format iopddl-contest; use --time-limit"));
  return respond(invocation, &group);
}

}  // namespace

void extend_solve(Invocation& invocation) {
  const auto flags = std::make_shared<SolveFlags>();
  commands::Fields& fields = invocation.request->fields;
  fields
      .value("timeout", flags->timeout_s, "SECONDS",
             "With --format iopddl-contest: seconds for everything, reading included",
             commands::decimal_number(" of seconds", false))
      .as("TIMEOUT");
  fields.choice("format", flags->format, "form", kForms,
                "iopddl-contest: the last line of stdout is the list of chosen strategies, as the "
                "contest wants it");
  invocation.run = [&invocation, flags](ProcessGroup& group) {
    return run(invocation, *flags, group);
  };
}

}  // namespace shardwright::cli
