// Removes the parts of a program that one rank does not need.
#pragma once

#include "core/program/edit_log.h"
#include "core/status.h"

namespace shardwright::program {

// Removes the operators that run only on other ranks, then control flow with an empty block and
// unused variables other than feeds. The remaining control flow lists only the variables that its
// block still reads and writes, its inputs sorted by name as in Paddle's Resharder. `log` is over
// `program`. O(program).
void prune_rank(const Program& program, Rank rank, EditLog& log);

// Returns the startup program without the operators of block 0 that no variable read by `main`
// depends on, and without variables that are then unused. O(both programs).
Result<Program> prune_startup(const Program& startup, const Program& main);

}  // namespace shardwright::program
