// Arguments and output that the planning commands share.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "core/embedding/document/plan_document.h"
#include "core/status.h"
#include "runtime/cli/options/arguments.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/planner.h"

namespace shardwright::cli {

struct PlanArguments {
  ProblemArguments problem;
  OutputArguments output;
  PlanOptions options;
  std::string mode = "best";
  bool emit_search_space = false;
  std::string report_path;  // empty = none
  bool stats = false;
};

// Adds --mode, limits and --seed.
void add_search_arguments(CLI::App& command, PlanArguments& arguments);
// Adds what the JSON keeps in addition, --report and --stats.
void add_json_arguments(CLI::App& command, PlanArguments& arguments);

// The planning options, mode and threads included. Errors: kInvalidInput for an unknown mode.
Result<PlanOptions> plan_options(const PlanArguments& arguments);

// Calls `plan` with a progress line. Ctrl-C ends the search with the best plan so far.
Result<EmbeddingPlanResult> plan_interruptibly(
    PlanOptions options, const Log& log,
    const std::function<Result<EmbeddingPlanResult>(const PlanOptions&)>& plan);

// Loads a problem for which there is a plan. If it leaves the layout of its machine open, takes
// that of the plan.
Result<LoadedProblem> load_problem_of(const ProblemArguments& arguments,
                                      const PlanDocument& document, const Log& log);

// The exit status of an answer.
int status_of(const EmbeddingPlanResult& result);

// Writes an answer as the arguments ask. Returns the exit status.
int emit_plan(const PlanArguments& arguments, const LoadedProblem& loaded,
              const EmbeddingPlanResult& result, const Log& log);

}  // namespace shardwright::cli
