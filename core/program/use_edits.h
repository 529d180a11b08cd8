// Changes to the lists of operators that read a variable.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/program/program.h"

namespace shardwright::program {

// Differences from the lists of a base version. However often a list changes, it is written once,
// at the end.
// Thread safety: one thread at a time.
class UseEdits {
 public:
  using VarTable = Program::Vars::Editor;

  // Operators from index `num_base_ops` on are new, so they are in no list of the base.
  explicit UseEdits(std::size_t num_base_ops) : num_base_ops_(num_base_ops) {}

  // Adds an operator that reads the variable; no effect if it is listed.
  void add(const VarTable& vars, VarId id, OpId user);
  void drop(VarId id, OpId user);
  // Drops the operator from the lists of all its inputs, except those that are also in `kept`.
  void drop_inputs(const Operation& op, OpId id, const std::vector<Argument>& kept);

  std::vector<OpId> uses(const VarTable& vars, VarId id) const;
  // Writes all changed lists and forgets the changes. O(uses of changed variables).
  void write(VarTable& vars);
  void clear() { changes_.clear(); }

 private:
  struct Changes {
    boost::container::small_vector<OpId, 4> added;
    boost::container::small_vector<OpId, 2> dropped;
  };

  // `changes` may be null.
  static void read(const VarTable& vars, VarId id, const Changes* changes, std::vector<OpId>& uses);

  std::size_t num_base_ops_;
  std::unordered_map<VarId, Changes> changes_;
};

}  // namespace shardwright::program
