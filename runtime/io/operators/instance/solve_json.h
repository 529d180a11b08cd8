// Writes answers of the operator-sharding solver.
#pragma once

#include "core/operators/instance/lowered_instance.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/solve.h"

namespace shardwright {

// {"status", "objective", "choice", "names", "lower_bound", ...}; objective and choice are null
// where there is none, names are left out where the input has none. `seconds` is the whole time,
// reading included.
void write_solution(const operators::OperatorProblem& problem, const OperatorsResult& result,
                    double seconds, const TextSink& sink);

}  // namespace shardwright
