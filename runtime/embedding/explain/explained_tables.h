// What every option of every table of a plan would cost, and why the chosen one won.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/result/plan_result.h"
#include "search/budget.h"
#include "search/embedding/questions/option_costs.h"
#include "search/executor.h"

namespace shardwright {

struct TableExplanation {
  embedding::TableId table;
  // The chosen option first, then possible ones by rating and time, then the others.
  std::vector<embedding::OptionCost> options;
  std::vector<std::string> reasons;  // why the chosen one, in sentences
};

struct ExplainedTables {
  std::vector<TableExplanation> tables;  // in the order of the problem
  std::size_t tables_left_out = 0;       // a stop or a deadline came before them
  std::shared_ptr<const void> owner;     // keeps the options alive
};

// Explains the plan of a result, or its table of this name alone. If the result's search space was
// given, options outside it are not listed. Precondition: the result has a plan, a search space and
// a reservation. Cost: the options of a table are rated by what they change,
// O(options x shards x ranks) at worst.
ExplainedTables explain_tables(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                               const std::optional<std::string>& table, Executor& executor,
                               const Budget& budget = {});

}  // namespace shardwright
