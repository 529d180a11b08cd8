// The report on a solved operator problem, as plain text.
#pragma once

#include <cstddef>
#include <string>

#include "core/operators/instance/cost_instance.h"
#include "runtime/operators/solve.h"

namespace shardwright {

struct OperatorsReportOptions {
  std::size_t width = 100;          // columns
  std::size_t max_operators = 400;  // rows; of more operators, the most expensive
  std::size_t max_conversions = 60;
  double read_s = 0;  // time to read the problem
};

// Totals, the strategy of every operator with its cost and memory, and the conversions on edges; or
// why there is no answer.
std::string text_report(const operators::OperatorProblem& problem, const OperatorsResult& result,
                        const OperatorsReportOptions& options = {});

}  // namespace shardwright
