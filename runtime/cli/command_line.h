// The whole command line.
#pragma once

#include <span>

namespace shardwright::cli {

// Runs the command that the arguments name; the first argument is the name of the program. Reads
// and writes files, standard input, output and error. Returns the exit status
// (runtime/surface/outcome.h).
int run_command(std::span<char*> arguments);

}  // namespace shardwright::cli
