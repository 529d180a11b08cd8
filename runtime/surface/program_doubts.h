// Warnings about programs that are valid, but likely wrong.
#pragma once

#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::commands {

// Returns a sentence for each variable of block 0 that an operator reads before another one first
// writes it: either the order is wrong, or the variable has a value before the program runs, which
// feeds and parameters have. `place` is where the program is in its file. O(operators + arguments).
std::vector<std::string> reads_before_writes(const program::Program& program,
                                             const std::string& place);

// Returns a sentence for each compat plan that the simulation refutes, a few at most.
std::vector<std::string> wrong_plans(const program::Program& program, const std::string& place,
                                     const std::vector<program::WrongPlan>& wrong);
std::vector<std::string> wrong_plans(const std::vector<TensorReshard>& answers);

// A sentence for each variable with an extent of 0.
std::vector<std::string> empty_tensors(const program::Program& program, const std::string& place);

}  // namespace shardwright::commands
