// The public entry for operator sharding: chooses a strategy for every operator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "search/operators/solve/solve_problem.h"

namespace shardwright {

class Exchange;

// A better choice or bound, with the time at which it was found.
struct OperatorsProgress : operators::SolutionProgress {
  double elapsed_s = 0;
};

struct OperatorsOptions {
  int threads = 0;                          // 0 means all cores
  std::optional<double> time_limit_s;       // an answer that it ends is not deterministic
  std::optional<std::uint64_t> work_limit;  // strategy evaluations; deterministic
  std::uint64_t seed = 0;
  // Ends the search with the best choice so far, from any thread. Such an answer is not
  // deterministic.
  std::stop_token stop;
  // Called on the thread that called solve_operators(), with no lock held.
  std::function<void(const OperatorsProgress&)> on_progress;
  // Other processes that solve this problem with other seeds (portfolio.h), or null.
  Exchange* exchange = nullptr;
};

struct OperatorsResult : operators::ProblemSolution {
  std::uint64_t work = 0;  // strategy evaluations
  int threads = 1;
  double solve_s = 0;
};

namespace operators {

std::span<const std::string_view> names_of(SolveStatus);
constexpr std::string_view what_of(SolveStatus) { return "status"; }

}  // namespace operators

// Returns "optimal", "feasible", "infeasible" or "unknown".
const char* name_of(operators::SolveStatus status);

// Returns one clause such as "the memory limit is 1000 bytes, but every choice needs at least
// 2000". If the limit may suffice, "; every choice" replaces ", but every choice".
std::string shortage_text(const operators::MemoryShortage& shortage);

// Solves `problem` with operators::solve_problem(). Errors: kInvalidInput for options out of range,
// and if the processes have different problems. Thread safety: may be called from any number of
// threads at once.
Result<OperatorsResult> solve_operators(const operators::OperatorProblem& problem,
                                        const OperatorsOptions& options = {});

}  // namespace shardwright
