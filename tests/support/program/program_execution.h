// Executes the resharded programs of all ranks together, on small arrays.
#pragma once

#include <cstddef>
#include <string>

#include "search/program/reshard_program.h"

namespace shardwright::test_support {

// `problem` is empty if every operator of every rank read the data that its placement promises, and
// no rank waits for ever. Otherwise it names the first problem.
struct Execution {
  std::string problem;
  std::size_t operators = 0;    // original operators that ranks executed
  std::size_t inputs = 0;       // inputs that were compared with the whole program's
  std::size_t messages = 0;     // sends
  std::size_t collectives = 0;  // collectives that all members reached
};

// The original program is executed once on whole arrays, with arbitrary functions as operators. A
// rank whose inputs are the right parts of the whole inputs gets its parts of the whole outputs.
// Inserted operators are computed: a send waits for its receiver, and a collective for every member
// of its group. All ranks must know the same groups. Loops run twice. Needs the programs of all
// ranks, small shapes, and a mesh for every operator without a block, because an operator without a
// mesh is not executed.
// the others. Shapes should be small.
Execution execute(const program::Program& original, const program::ReshardResult& result);

}  // namespace shardwright::test_support
