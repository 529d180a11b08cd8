#include "runtime/operators/autoshard.h"

#include <memory>
#include <optional>
#include <utility>

#include "runtime/execution/planning_executor.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright {
namespace {

using namespace operators::autoshard;

Error disagreement(const char* what) {
  return Error{ErrorCode::kVerificationFailed,
               std::string("the verifier disagrees with the search about ") + what, ""};
}

Result<AutoshardAnswer> answer(Solver& solver, const Request& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(solver.prove(request));
  AutoshardAnswer answer;
  answer.request = request;
  answer.solution = solver.solution();
  const Graph& graph = *request.graph;
  SHARDWRIGHT_ASSIGN_OR_RETURN(answer.evaluation, evaluate(graph, answer.solution.assignment,
                                                           request.devices, request.model));
  if (answer.evaluation.scaled_total != answer.solution.scaled_optimum) {
    return disagreement("the cost of the optimum");
  }
  answer.schedule = schedule(graph, answer.solution.assignment, request.model);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      const ImproveResult improved,
      improve(
          request, [&](std::int64_t bound) { return solver.find_below(bound); },
          [&](const Iteration& iteration) { answer.iterations.push_back(iteration); }));
  const bool reached =
      !improved.last || improved.last->evaluation.scaled_total == answer.solution.scaled_optimum;
  if (!improved.exhausted || !reached) return disagreement("the end of the iterations");
  return answer;
}

}  // namespace

std::vector<Result<AutoshardAnswer>> autoshard(std::span<const Request> requests, int threads) {
  std::vector<std::optional<Result<AutoshardAnswer>>> found(requests.size());
  const auto answer_range = [&](std::size_t begin, std::size_t end) {
    Solver solver;
    for (std::size_t i = begin; i < end; ++i)
      found[i] = answer(solver, requests[i]);
  };
  if (requests.size() == 1) {
    answer_range(0, 1);
  } else {
    PlanningExecutor executor(threads);
    executor.parallel_for(requests.size(), 1, [&](unsigned, std::size_t begin, std::size_t end) {
      answer_range(begin, end);
    });
  }
  std::vector<Result<AutoshardAnswer>> answers;
  answers.reserve(found.size());
  for (std::optional<Result<AutoshardAnswer>>& each : found)
    answers.push_back(std::move(*each));
  return answers;
}

}  // namespace shardwright
