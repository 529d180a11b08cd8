// Where a walk through a program stands: the control flow around it, and what was written before.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace shardwright::program {

// Thread safety: one thread at a time. Refers to the program.
class ControlFlow {
 public:
  explicit ControlFlow(const Program& program)
      : program_(program), epochs_(program.var_capacity(), 0) {}

  // The number of writes to a variable so far: two reads see the same value if it is equal.
  std::uint32_t epoch(VarId var) const { return epochs_[var.index()]; }
  void write(VarId var) { ++epochs_[var.index()]; }

  // Enters and leaves the block that an operator runs. What the block writes has another value
  // inside it, and another one afterwards. O(operators of the block).
  void enter(OpId op);
  void leave();

  // Where operators for a consumer go: before the outermost control flow around it that does not
  // write the variable.
  OpId anchor_of(OpId consumer, VarId var) const;

 private:
  struct Enclosing {
    OpId op;
    std::vector<VarId> written;  // sorted
  };

  void collect_written(BlockId block, std::vector<VarId>& written) const;

  const Program& program_;
  std::vector<std::uint32_t> epochs_;  // by variable
  std::vector<Enclosing> enclosing_;   // outermost first
};

}  // namespace shardwright::program
