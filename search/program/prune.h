// Removes from a program what one rank does not need.
#pragma once

#include "core/program/edit_log.h"
#include "core/status.h"

namespace shardwright::program {

// Removes the operators that run on other ranks only, control flow whose block is empty then, and
// variables that nothing uses then, except feeds. The remaining control flow lists only what its
// block still reads and writes, its inputs sorted by name as in Paddle's Resharder. `log` is over
// `program`. O(program).
void prune_rank(const Program& program, Rank rank, EditLog& log);

// Returns the startup program without operators of block 0 that do not lead to a variable that
// `main` reads, and without variables that nothing uses then. O(both programs).
Result<Program> prune_startup(const Program& startup, const Program& main);

}  // namespace shardwright::program
