// The command line of shardwright.
#pragma once

#include <span>

namespace shardwright::cli {

// Runs the command that `arguments` name; arguments[0] is the program's name. Reads and writes
// files and the standard streams. Returns the exit status (runtime/surface/outcome.h).
int run_command(std::span<char*> arguments);

}  // namespace shardwright::cli
