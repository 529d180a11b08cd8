// The public entry for operator sharding: which strategy every operator takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/operators/instance/lowered_instance.h"
#include "core/status.h"
#include "search/operators/solve/solve.h"

namespace shardwright {

// A better choice or bound.
struct OperatorsProgress {
  std::vector<std::uint32_t> choice;  // by operator; empty while nothing was found
  double objective = 0;
  double lower_bound = 0;
  double elapsed_s = 0;
};

struct OperatorsOptions {
  int threads = 0;                          // 0 = all cores
  std::optional<double> time_limit_s;       // gives up determinism when it strikes
  std::optional<std::uint64_t> work_limit;  // strategy evaluations; deterministic
  std::uint64_t seed = 0;
  // Ends the search, from any thread, with the best choice so far; gives up determinism, too.
  std::stop_token stop;
  // Called on the thread that plans; no lock is held.
  std::function<void(const OperatorsProgress&)> on_progress;
};

// Why no choice keeps the memory limit.
struct MemoryShortage {
  std::int64_t limit_bytes = 0;    // the lowest of the memory time points
  std::int64_t minimum_bytes = 0;  // every choice needs at least these
  bool minimum_is_exact = false;   // and some choice no more
};

struct OperatorsResult {
  operators::SolveStatus status = operators::SolveStatus::kUnknown;
  std::vector<std::uint32_t> choice;  // by operator; empty unless optimal or feasible
  double objective = 0;               // with what exceeding a soft budget costs
  double overbudget_cost = 0;         // that part of it
  double lower_bound = 0;
  std::optional<MemoryShortage> shortage;  // infeasible only; none where memory is not the reason
  std::int64_t peak_bytes = 0;             // over the limited time points of memory
  std::uint64_t work = 0;                  // strategy evaluations
  int threads = 1;
  std::string stopped_by;  // empty = ran to its end; work_limit | time_limit | cancelled
  double solve_s = 0;
};

// "optimal", "feasible", "infeasible", "unknown".
const char* name_of(operators::SolveStatus status);

// "the limit is 1,000 bytes, but every choice needs at least 2,000": one clause.
std::string shortage_text(const MemoryShortage& shortage);

// Every choice returned has passed operators::evaluate. A soft budget is solved as a sequence of
// hard ones. Errors: kInvalidInput for options out of range.
// Thread safety: may be called from any number of threads at once.
Result<OperatorsResult> solve_operators(const operators::OperatorProblem& problem,
                                        const OperatorsOptions& options = {});

}  // namespace shardwright
