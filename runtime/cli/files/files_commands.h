// The commands about files as such.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/cli/options/arguments.h"

namespace shardwright::cli {

// Each function adds its subcommand to `app`. Parsing it sets `chosen`, which must outlive `app`.
void add_init_command(CLI::App& app, Action& chosen);
void add_schema_command(CLI::App& app, Action& chosen);
void add_report_command(CLI::App& app, Action& chosen);

}  // namespace shardwright::cli
