// Several processes solve one operator problem, each with its own seed.
#pragma once

#include "core/status.h"
#include "runtime/operators/solve.h"

namespace shardwright {

// Process p solves with seed + p. Processes exchange nothing during the search. At the end every
// process has the best choice of all (the first process's among equal choices), the highest bound,
// and the status of a process that proved its result. Cost: two all-gathers, of a digest and of a
// choice. If the exchange fails or a process leaves, every process answers with its own choice.
// Precondition: `options.exchange` is not null. Errors: as solve_operators().
Result<OperatorsResult> solve_portfolio(const operators::OperatorProblem& problem,
                                        const OperatorsOptions& options);

}  // namespace shardwright
