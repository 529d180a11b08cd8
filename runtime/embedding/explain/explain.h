// The public entry for explaining a plan: what every table's other options would cost, or why no
// plan fits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/explain/explained_tables.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"
#include "search/embedding/questions/infeasible_reason.h"
#include "search/embedding/questions/remedies.h"

namespace shardwright {

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
