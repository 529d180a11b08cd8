#include "search/operators/autoshard/solver.h"

#include <string>
#include <utility>

#include "core/check.h"

namespace shardwright::operators::autoshard {
namespace {

Result<Solution> solve_with(Solver& solver, const Request& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(solver.prove(request));
  return solver.solution();
}

}  // namespace

Status Solver::prove(const Request& request) {
  SHARDWRIGHT_CHECK(request.graph != nullptr);
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*request.graph, request.devices));
  request_ = request;
  pairs_.build(*request.graph, request.devices, request.model);
  const std::optional<std::uint32_t> too_wide = elimination_.run(pairs_);
  if (!too_wide) return {};
  return Error{ErrorCode::kUnsupported,
               "so many tensors depend on each other here that an exact search needs more than " +
                   std::to_string(Elimination::kMaxStates) + " states",
               "/graph/" + std::to_string(pairs_.variables()[*too_wide].op)};
}

Solution Solver::solution() {
  Solution solution;
  solution.scaled_optimum = scaled_optimum();
  solution.optimum = unscaled(scaled_optimum(), request_.devices);
  solution.num_optimal = num_optimal();
  solution.assignment = assignment(0);
  solution.states = elimination_.states();
  return solution;
}

std::optional<Assignment> Solver::find_below(std::int64_t scaled_bound) {
  if (scaled_bound <= scaled_optimum()) return std::nullopt;
  return assignment((scaled_bound - 1 - scaled_optimum()) / 2);
}

Assignment Solver::assignment(std::int64_t slack) {
  const std::span<const std::uint8_t> chosen = elimination_.select(slack);
  Assignment assignment(request_.graph->size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const PairwiseModel::Variable& variable = pairs_.variables()[i];
    const Spec first = variable.values[chosen[i]];
    assignment[variable.op] =
        *specs_from_first(*request_.graph, variable.op, first, request_.model);
  }
  return assignment;
}

Result<Solution> solve(const Request& request) {
  Solver solver;
  return solve_with(solver, request);
}

std::vector<Result<Solution>> solve_all(std::span<const Request> requests, Executor& executor) {
  std::vector<std::unique_ptr<Solver>> solvers(executor.workers());
  std::vector<std::optional<Result<Solution>>> found(requests.size());
  executor.parallel_for(requests.size(), {1, 1},
                        [&](unsigned worker, std::size_t begin, std::size_t end) {
                          // Made by the thread that uses it.
                          if (!solvers[worker]) solvers[worker] = std::make_unique<Solver>();
                          for (std::size_t i = begin; i < end; ++i) {
                            found[i] = solve_with(*solvers[worker], requests[i]);
                          }
                        });
  std::vector<Result<Solution>> solutions;
  solutions.reserve(found.size());
  for (std::optional<Result<Solution>>& each : found)
    solutions.push_back(std::move(*each));
  return solutions;
}

}  // namespace shardwright::operators::autoshard
