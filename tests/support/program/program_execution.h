// Runs every rank's resharded program at once, on small arrays.
#pragma once

#include <cstddef>
#include <string>

#include "search/program/reshard_program.h"

namespace shardwright::test_support {

// `problem` is empty exactly if every operator of every rank read the data that its placement
// promises and no rank deadlocked.
struct Execution {
  std::string problem;
  std::size_t operators = 0;    // of the original program, run by some rank
  std::size_t inputs = 0;       // compared with what the whole program has
  std::size_t messages = 0;     // sent
  std::size_t collectives = 0;  // met
};

// An original operator is an arbitrary function of its whole inputs: the whole program is run once,
// and a rank that has the right shares of the inputs gets its shares of the outputs. Inserted
// operators are carried out: sends wait for their receiver, collectives for every member of the
// group that they name, and all ranks must know the same groups. Loops run twice.
// Needs the programs of all ranks, and a mesh for every operator that has no block: no rank runs
// the others. Shapes should be small.
Execution execute(const program::Program& original, const program::ReshardResult& result);

}  // namespace shardwright::test_support
