// What the commands that plan have in common.
#pragma once

#include <functional>
#include <string>

#include <CLI/CLI.hpp>

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

// --mode, limits and seed.
void add_search_arguments(CLI::App& command, PlanArguments& arguments);
// What more an answer in JSON keeps, and the report as a page.
void add_json_arguments(CLI::App& command, PlanArguments& arguments);

// The options with mode and threads. Errors: kInvalidInput for an unknown mode.
Result<PlanOptions> plan_options(const PlanArguments& arguments);

// Calls `plan` with the options and a progress line; Ctrl-C ends the search with the best plan so
// far.
Result<EmbeddingPlanResult> plan_interruptibly(
    PlanOptions options, const Log& log,
    const std::function<Result<EmbeddingPlanResult>(const PlanOptions&)>& plan);

// Writes an answer as the arguments ask. Returns the exit status.
int emit_plan(const PlanArguments& arguments, const LoadedProblem& loaded,
              const EmbeddingPlanResult& result, const Log& log);

}  // namespace shardwright::cli
