// Text reports of solved operator problems and of auto-sharding.
#pragma once

#include <cstddef>
#include <string>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/operators/instance/cost_instance.h"
#include "runtime/operators/autoshard.h"
#include "runtime/operators/solve.h"

namespace shardwright {

struct OperatorsReportOptions {
  std::size_t width = 100;          // columns
  std::size_t max_operators = 400;  // rows; if there are more, the most expensive are shown
  std::size_t max_conversions = 60;
  double read_s = 0;  // seconds for reading the problem
};

// Shows totals, the strategy of every operator with its cost and memory, and the conversions on
// edges; or says why there is no answer.
std::string text_report(const operators::OperatorProblem& problem, const OperatorsResult& result,
                        const OperatorsReportOptions& options = {});

// Lists the ops of the graph: a row per op and per parameter of its module.
std::string autoshard_node_table(const operators::autoshard::Graph& graph, std::size_t width);

// Lists costs: a row per op with its decisions, per read and per output, then the total.
std::string autoshard_cost_table(const operators::autoshard::Evaluation& evaluation,
                                 std::size_t width);

// Returns the whole report. With `iterations`, every improvement has a cost table.
std::string text_report(const AutoshardAnswer& answer, bool iterations, std::size_t width);

}  // namespace shardwright
