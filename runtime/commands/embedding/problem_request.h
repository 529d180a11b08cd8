// The problem that a request is about.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/commands/answer.h"
#include "runtime/commands/fields.h"
#include "runtime/commands/input.h"
#include "runtime/io/embedding/problem/problem_json.h"

namespace shardwright::commands {

struct ProblemRequest {
  Input problem;
  Input search_space;  // options and costs; may be absent
  ProblemOverrides overrides;
  // In the place of both documents, where the caller has read them; may be null.
  std::shared_ptr<const embedding::Problem> read_problem;
  std::shared_ptr<const embedding::SearchSpace> read_space;
};

void describe(ProblemRequest& request, Fields& fields);

// A problem, read.
struct LoadedProblem {
  std::shared_ptr<const embedding::Problem> problem;
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null if none was given
  double read_s = 0;
};

// Errors: those of reading, with the input.
Result<LoadedProblem> load(const ProblemRequest& request, const Watch& watch);

// The same for a problem for which there is a plan. If it leaves the layout of its machine open,
// takes that of the plan.
Result<LoadedProblem> load_for(const ProblemRequest& request, const PlanDocument& document,
                               const Watch& watch);

// Reads a plan file. Errors: those of reading, with the input.
Result<PlanDocument> load_plan(const Input& input, const Watch& watch);

}  // namespace shardwright::commands
