// The commands under `shardwright operators`, one per file.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/cli/options/arguments.h"

namespace shardwright::cli {

// Adds `operators`, which requires a subcommand. Parsing that sets `chosen`, which must outlive
// `app`.
void add_operators_command(CLI::App& app, Action& chosen);

// Each function adds its subcommand to `operators`.
void add_operators_paths_command(CLI::App& operators, Action& chosen);
void add_operators_solve_command(CLI::App& operators, Action& chosen);
void add_operators_autoshard_command(CLI::App& operators, Action& chosen);
void add_operators_strategies_command(CLI::App& operators, Action& chosen);
void add_operators_build_command(CLI::App& operators, Action& chosen);
void add_operators_plan_command(CLI::App& operators, Action& chosen);
void add_operators_sweep_command(CLI::App& operators, Action& chosen);

}  // namespace shardwright::cli
