// What every option of every table of a plan would cost, and why the chosen one won.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"
#include "runtime/embedding/planner.h"
#include "search/budget.h"
#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/option_costs.h"
#include "search/embedding/questions/remedies.h"
#include "search/executor.h"

namespace shardwright {

struct TableExplanation {
  embedding::TableId table;
  // The chosen option first, then possible ones by rating and time, then the others.
  std::vector<embedding::OptionCost> options;
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

// Why nothing fits, and what would help.
struct Infeasibility : embedding::InfeasibleReason {
  std::string message;  // with names and bytes
  std::vector<embedding::Remedy> remedies;
  std::vector<embedding::FailedRemedy> in_vain;
};

// Without a plan no table is explained.
struct Explanation : ExplainedTables {
  std::shared_ptr<const embedding::Problem> problem;
  EmbeddingPlanResult result;                  // the plan that is explained, or the failed planning
  std::optional<Infeasibility> infeasibility;  // only without a plan
  std::uint64_t plannings = 0;                 // how many problems were planned
  double total_s = 0;
};

struct ExplainOptions {
  PlanOptions plan;                  // how to plan, and how to test remedies
  std::optional<std::string> table;  // explain only this table
};

// Explains the plan in `entries`, or without entries the plan that planning finds; if there is
// none, says why and which changes help. With `space`, its options and costs are used; options
// outside it are then not listed and no remedies are looked for, since the costs on other machines
// are not known. Cost: the options of a table are rated by what they change, O(options x shards x
// ranks) at worst; remedies are tested by planning with `options.plan` until a first plan is found.
// Errors: as plan_embedding(); kInvalidInput for an unknown table (`where` = "--table") and for
// entries that are no plan of the problem (`where` = the JSON pointer in the plan file).
// Thread safety: may be called from any number of threads at once.
Result<Explanation> explain_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const std::optional<std::vector<PlanEntry>>& entries, const ExplainOptions& options,
    std::shared_ptr<const embedding::SearchSpace> space = nullptr);

}  // namespace shardwright
