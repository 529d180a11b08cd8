// The state of a walk through a program: the enclosing control flow, and what was written so far.
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

  // The number of writes to a variable so far. Two reads with equal epochs see the same value.
  std::uint32_t epoch(VarId var) const { return epochs_[var.index()]; }
  void write(VarId var) { ++epochs_[var.index()]; }

  // Enters and leaves the block that an operator runs. Variables that the block writes get a new
  // epoch inside it, and another one after it. O(operators of the block).
  void enter(OpId op);
  void leave();

  // Operators that serve a consumer go before this operator: the outermost control flow around the
  // consumer whose block does not write the variable, or the consumer itself.
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
