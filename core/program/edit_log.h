// An editor of programs, and its changes to the lists of operators that read a variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "core/program/program.h"
#include "core/status.h"

namespace shardwright::program {

// Changes to the lists of a base version. write() writes each changed list once, however often the
// list changed.
// Thread safety: one thread at a time.
class UseEdits {
 public:
  using VarTable = Program::Vars::Editor;

  // Operators with an index of at least `num_base_ops` are new and in no list of the base.
  explicit UseEdits(std::size_t num_base_ops) : num_base_ops_(num_base_ops) {}

  // Adds an operator to the list of a variable that it reads; no effect if it is listed.
  void add(const VarTable& vars, VarId id, OpId user);
  void drop(VarId id, OpId user);
  // Drops the operator from the lists of all its inputs except those in `kept`.
  void drop_inputs(const Operation& op, OpId id, const std::vector<Argument>& kept);

  std::vector<OpId> uses(const VarTable& vars, VarId id) const;
  // Writes all changed lists to `vars` and forgets the changes. O(uses of changed variables).
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

// One recorded change.
struct Edit {
  enum class Kind : std::uint8_t {
    kCreateVar,
    kInsertBefore,
    kInsertAfter,
    kRemoveOp,
    kRemoveVar,
    kRenameInput,
    kAddInput,
    kSetArguments,
    kSetAttribute,
    kPlaceVar
  };
  Kind kind = Kind::kCreateVar;
  OpId anchor;    // the operator that is changed or removed, or the neighbour of an insertion
  OpId op;        // the inserted operator
  VarId var;      // created, removed, placed or added; the new variable of a rename
  VarId old_var;  // the old variable of a rename
};
std::string_view to_name(Edit::Kind kind);

// Amounts of work, which do not depend on the machine. A host language with its own listing of a
// program must update the listing after a change, by reading every operator and variable of the
// block. `mirror_syncs` counts these updates, `items_scanned` the operators and variables read.
struct EditCounters {
  std::uint64_t edits = 0;
  std::uint64_t inserted_ops = 0;
  std::uint64_t commits = 0;
  std::uint64_t mirror_syncs = 0;
  std::uint64_t items_scanned = 0;
};

// Thrown by an edit that would exceed EditLog::limit().
struct EditLimitReached {};

// When a host language would update its listing of a program.
enum class SyncMode : std::uint8_t {
  kPerCommit,  // once per changed block, at commit()
  kPerInsert   // before every inserted operator, as Paddle's Resharder does
};

// A program with pending edits. Reads through the log see the edits. The base version never
// changes. Destroying the log or rollback() drops all edits.
// Preconditions: the operators and variables given exist. If an edit throws bad_alloc, commit()
// fails.
// Cost: O(1) per edit, plus a page of 128 slots that is copied at its first change. If the uses of
// a variable change, they are copied once per log.
// Thread safety: one thread at a time; several logs over one version may be used at once.
class EditLog {
 public:
  explicit EditLog(Program base, SyncMode mode = SyncMode::kPerCommit);
  EditLog(const EditLog&) = delete;
  EditLog& operator=(const EditLog&) = delete;

  // Reads.
  const Program& base() const { return base_; }
  const Block& block(BlockId id) const;
  bool has(OpId id) const { return id.index() < ops_.size() && ops_[id.index()].op != nullptr; }
  bool has(VarId id) const { return id.index() < vars_.size() && vars_[id.index()].var != nullptr; }
  const Operation& op(OpId id) const { return *ops_[id.index()].op; }
  const Variable& var(VarId id) const { return *vars_[id.index()].var; }
  OpId next(OpId id) const { return ops_[id.index()].next; }
  OpId previous(OpId id) const { return ops_[id.index()].previous; }
  BlockId block_of(OpId id) const { return ops_[id.index()].block; }
  std::size_t var_capacity() const { return vars_.size(); }
  std::size_t op_capacity() const { return ops_.size(); }
  std::vector<OpId> uses(VarId id) const { return uses_.uses(vars_, id); }

  // Edits.
  VarId create_var(Variable variable);
  OpId insert_before(OpId anchor, Operation op);
  OpId insert_after(OpId anchor, Operation op);
  void remove(OpId id);
  void remove(VarId id);  // precondition: no operator reads or writes it
  // Replaces `old_var` by `new_var` in every input of the operator; the mapping of the input stays.
  // If `wanted` is not null, changes only inputs with this mapping.
  void rename_input(OpId id, VarId old_var, VarId new_var, const DimsMapping* wanted = nullptr);
  void add_input(OpId id, Argument argument);
  void set_arguments(OpId id, std::vector<Argument> inputs, std::vector<Argument> outputs);
  void set_attribute(OpId id, const std::string& name, AttributeValue value);
  // Sets the placement of a variable that has none.
  void place(VarId id, MeshId mesh, DimsMapping dims_mapping);
  void set_communication(std::shared_ptr<const Communication> communication);

  // Limits the number of edits. A further edit throws EditLimitReached, and then commit() fails.
  void limit(std::uint64_t edits) { limit_ = edits; }

  const std::vector<Edit>& edits() const { return edits_; }
  const EditCounters& counters() const { return counters_; }

  // Returns the new version, which shares all unchanged parts with the base. The log accepts no
  // more edits. O(changes + pages + blocks). Errors: kInvalidInput if an edit failed, or if the log
  // was committed or rolled back before.
  Result<Program> commit();
  // Drops all edits. The log accepts no more edits.
  void rollback();

 private:
  enum class State : std::uint8_t { kOpen, kBroken, kClosed };
  class Guard;
  OpId link(OpId anchor, bool before, Operation op);
  Block& edit_block(BlockId id);
  void record(Edit edit);
  void count_sync(BlockId id);

  Program base_;
  SyncMode mode_;
  State state_ = State::kOpen;
  Program::Ops::Editor ops_;
  Program::Vars::Editor vars_;
  std::vector<std::unique_ptr<Block>> blocks_;  // by id; null if unchanged
  UseEdits uses_;
  std::shared_ptr<const Communication> communication_;
  std::vector<Edit> edits_;
  EditCounters counters_;
  std::uint64_t limit_ = ~std::uint64_t{0};
};

}  // namespace shardwright::program
