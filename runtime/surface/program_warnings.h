// Warnings about programs that are valid but probably wrong.
#pragma once

#include <string>
#include <vector>

#include "core/program/program.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::commands {

// Returns a sentence for each variable of block 0 that an operator reads before another operator
// first writes it. Either the operators are in the wrong order, or the variable has a value before
// the program runs and lacks the mark of a feed or parameter. `place` is the program's place in its
// file. Cost: O(operators + arguments).
std::vector<std::string> reads_before_writes(const program::Program& program,
                                             const std::string& place);

// Return a sentence for each compat plan that the simulation proves wrong, at most a few.
std::vector<std::string> wrong_plans(const program::Program& program, const std::string& place,
                                     const std::vector<program::WrongPlan>& wrong);
std::vector<std::string> wrong_plans(const std::vector<TensorReshard>& answers);

// Returns a sentence for each variable with an extent of 0.
std::vector<std::string> empty_tensors(const program::Program& program, const std::string& place);

}  // namespace shardwright::commands
