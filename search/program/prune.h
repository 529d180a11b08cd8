// Removes the parts of a program that one rank does not need.
#pragma once

#include "core/program/edit_log.h"
#include "core/status.h"

namespace shardwright::program {

// Removes the operators that run only on other ranks. Then removes control flow with an empty
// block, and unused variables that are not feeds. The remaining control flow lists only the
// variables that its block still reads and writes, with inputs sorted by name as in Paddle's
// Resharder. `log` records edits of `program`. O(program).
void prune_rank(const Program& program, Rank rank, EditLog& log);

// Returns the startup program without unused operators and variables. An operator of block 0 is
// used if a variable that `main` reads depends on it. O(both programs).
Result<Program> prune_startup(const Program& startup, const Program& main);

}  // namespace shardwright::program
