// shardwright program ...: reshard cases, apply to programs.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/cli/options/arguments.h"

namespace shardwright::cli {

// Adds `program` and its subcommands to `app`. Parsing one sets `chosen`, which must outlive `app`.
void add_program_command(CLI::App& app, Action& chosen);

}  // namespace shardwright::cli
