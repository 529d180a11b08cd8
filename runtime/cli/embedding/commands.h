// The commands, one per file.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/cli/options/arguments.h"

namespace shardwright::cli {

// Each function adds its subcommand to `app`. Parsing it sets `chosen`, which must outlive `app`.
void add_plan_command(CLI::App& app, Action& chosen);
void add_replan_command(CLI::App& app, Action& chosen);
void add_sweep_command(CLI::App& app, Action& chosen);
void add_verify_command(CLI::App& app, Action& chosen);
void add_explain_command(CLI::App& app, Action& chosen);
void add_diff_command(CLI::App& app, Action& chosen);
void add_enumerate_command(CLI::App& app, Action& chosen);

// Adds `completion` and `man`, which describe the whole of `app`.
void add_documentation_commands(CLI::App& app, Action& chosen);

}  // namespace shardwright::cli
