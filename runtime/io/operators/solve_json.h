// Writes answers of the solver for operator sharding.
#pragma once

#include "core/operators/instance/cost_instance.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/solve.h"

namespace shardwright {

// Without a solution, objective and choice are null. Names are left out if the input has none.
// `seconds` is the total time with reading.
void write_solution(const operators::OperatorProblem& problem, const OperatorsResult& result,
                    double seconds, const TextSink& sink);
// Returns the shape of what write_solution() writes.
JsonShape solution_shape();

}  // namespace shardwright
