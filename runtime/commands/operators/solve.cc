// shardwright operators solve
#include <memory>
#include <string>
#include <utility>

#include "runtime/commands/operators/operators_commands.h"
#include "runtime/execution/stopwatch.h"
#include "runtime/io/operators/instance/cost_instance_json.h"
#include "runtime/io/operators/instance/solve_json.h"
#include "runtime/operators/solve.h"
#include "runtime/report/operators/operators_text.h"

namespace shardwright::commands {
namespace {

using operators::OperatorProblem;
using operators::SolveStatus;

Result<OperatorProblem> load(const SolveRequest& request, const Watch& watch) {
  CostInstanceOptions options;
  options.unmerged = request.unmerged;
  options.budget = request.budget;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.instance.read(watch.read));
  Result<OperatorProblem> problem = read_cost_instance(text, options);
  if (!problem.ok()) return request.instance.locate(problem.error());
  return problem;
}

Outcome outcome_of(const OperatorsResult& result) {
  switch (result.status) {
    case SolveStatus::kOptimal:
    case SolveStatus::kFeasible:
      break;
    case SolveStatus::kInfeasible:
      return Outcome::kNoPlan;
    case SolveStatus::kUnknown:
      return Outcome::kStopped;
  }
  return Outcome::kDone;
}

OperatorsOptions watched(OperatorsOptions options, std::stop_token stop, const Watch& watch) {
  options.stop = std::move(stop);
  options.exchange = watch.exchange;
  options.on_progress = [on_operators = watch.on_operators,
                         log = watch.log](const OperatorsProgress& progress) {
    if (on_operators) on_operators(progress);
    if (!log.enabled()) return;
    log.info(
        (progress.choice.empty() ? "nothing yet" : "cost " + std::to_string(progress.objective)) +
        ", at least " + std::to_string(progress.lower_bound));
  };
  return options;
}

}  // namespace

Result<Answer> answer(const SolveRequest& request, const Watch& watch) {
  const Stopwatch clock;
  std::stop_token stop = watch.begin();  // large instances are read by several threads
  SHARDWRIGHT_ASSIGN_OR_RETURN(OperatorProblem read, load(request, watch));
  const double read_s = clock.seconds();
  watch.log.info("read " + std::to_string(read.lowered.graph().num_nodes()) + " operators in " +
                 std::to_string(read_s) + " s");
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      OperatorsResult solved,
      solve_operators(read, watched(request.options, std::move(stop), watch)));
  const auto problem = std::make_shared<const OperatorProblem>(std::move(read));
  const auto result = std::make_shared<const OperatorsResult>(std::move(solved));
  Answer answer;
  answer.outcome = outcome_of(*result);
  answer.write_json = [problem, result, seconds = clock.seconds()](const TextSink& sink) {
    write_solution(*problem, *result, seconds, sink);
  };
  answer.text = [problem, result, read_s](const TextForm& form) {
    OperatorsReportOptions options;
    options.width = form.width;
    options.read_s = read_s;
    return text_report(*problem, *result, options);
  };
  return answer;
}

}  // namespace shardwright::commands
