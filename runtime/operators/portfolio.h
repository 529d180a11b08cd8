// One operator problem, solved by several processes with seeds of their own.
#pragma once

#include "core/status.h"
#include "runtime/operators/solve.h"

namespace shardwright {

// Process p solves with seed + p and exchanges nothing while it searches. At the end every process
// has the best choice of all processes (of equals, the first process's), the highest bound, and the
// status of a process that proved its result. Cost: two all-gathers, of a digest and of a choice.
// If the exchange fails or a process leaves, every process answers with its own choice.
// Precondition: `options.exchange` is not null. Errors: as solve_operators().
Result<OperatorsResult> solve_portfolio(const operators::OperatorProblem& problem,
                                        const OperatorsOptions& options);

}  // namespace shardwright
