// Arguments that the planning commands share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/status.h"
#include "runtime/cli/options/arguments.h"
#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/embedding/options.h"

namespace shardwright::cli {

struct PlanArguments {
  ProblemArguments problem;
  OutputArguments output;
  PlanOptions options;
  std::string mode = "best";
  commands::PlanContents contents;
};

// Adds --mode, limits and --seed.
void add_search_arguments(CLI::App& command, PlanArguments& arguments);
// Adds what the JSON keeps in addition, --report and --stats.
void add_json_arguments(CLI::App& command, PlanArguments& arguments);

// The planning options, mode and threads included. Errors: kInvalidInput for an unknown mode.
Result<PlanOptions> plan_options(const PlanArguments& arguments);

}  // namespace shardwright::cli
