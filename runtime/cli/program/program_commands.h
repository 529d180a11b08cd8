// shardwright program ...: reshard cases, apply to programs, transfer models.
#pragma once

#include <CLI/CLI.hpp>

#include "runtime/cli/options/arguments.h"

namespace shardwright::cli {

// Adds `program` and its subcommands to `app`. Parsing one sets `chosen`, which must outlive `app`.
void add_program_command(CLI::App& app, Action& chosen);

// The same for its subcommands in files of their own; `program` is the command that they belong to.
void add_redistribute_command(CLI::App& program, Action& chosen);
void add_transfer_command(CLI::App& program, Action& chosen);

}  // namespace shardwright::cli
