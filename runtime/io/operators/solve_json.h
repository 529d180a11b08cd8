// Writes answers of the operator-sharding solver.
#pragma once

#include "core/operators/instance/cost_instance.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/solve.h"

namespace shardwright {

// Objective and choice are null if there is no solution; names are omitted if the input has none.
// `seconds` is the total time, including reading.
void write_solution(const operators::OperatorProblem& problem, const OperatorsResult& result,
                    double seconds, const TextSink& sink);
// What write_solution() writes.
JsonShape solution_shape();

}  // namespace shardwright
