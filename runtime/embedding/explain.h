// What every option of every table would cost in a plan, and why the chosen option is the best.
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
  // The chosen option, then the possible options by rating and time, then the impossible ones.
  std::vector<embedding::OptionCost> options;
};

struct ExplainedTables {
  std::vector<TableExplanation> tables;  // in the order of the problem
  std::size_t tables_left_out = 0;       // because of a stop or a deadline
  std::shared_ptr<const void> owner;     // keeps the options alive
};

// Explains all tables in the plan of `result`, or only the named one. If the caller gave the search
// space, options outside it are not listed. Precondition: `result` has a plan, a search space and a
// reservation. Cost: O(options x shards x ranks) at worst.
ExplainedTables explain_tables(const embedding::Problem& problem, const EmbeddingPlanResult& result,
                               const std::optional<std::string>& table, Executor& executor,
                               const Budget& budget = {});

// Why no plan fits, and which changes of the problem help.
struct Infeasibility : embedding::InfeasibleReason {
  std::string message;  // a sentence with names and sizes in bytes
  std::vector<embedding::Remedy> remedies;
  std::vector<embedding::FailedRemedy> in_vain;
};

// If there is no plan, `tables` is empty.
struct Explanation : ExplainedTables {
  std::shared_ptr<const embedding::Problem> problem;
  EmbeddingPlanResult result;                  // the plan that is explained, or the failed planning
  std::optional<Infeasibility> infeasibility;  // only without a plan
  std::uint64_t plannings = 0;                 // number of problems planned
  double total_s = 0;
};

struct ExplainOptions {
  PlanOptions plan;                  // how to plan, and how to test remedies
  std::optional<std::string> table;  // explain only this table
};

// Explains the plan in `entries`. Without entries, plans first and explains that plan. If no plan
// exists, says why and which changes of the problem help. If `space` is given, its options and
// costs are used: options outside it are not listed, and no changes are tried, since their costs
// are unknown. Cost: rating the options takes O(options x shards x ranks) at worst. Each change is
// tested by planning with `options.plan` until a first plan is found. Errors: as plan_embedding();
// kInvalidInput for an unknown table (`where` = "table") and for entries that are no plan of the
// problem (`where` = the JSON pointer in the plan file).
// Thread safety: may be called from any number of threads at once.
Result<Explanation> explain_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const std::optional<std::vector<PlanEntry>>& entries, const ExplainOptions& options,
    std::shared_ptr<const embedding::SearchSpace> space = nullptr);

}  // namespace shardwright
