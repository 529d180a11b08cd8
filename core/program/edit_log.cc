#include "core/program/edit_log.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shardwright::program {

void UseEdits::add(const VarTable& vars, VarId id, OpId user) {
  Changes& changes = changes_[id];
  if (!changes.added.empty() && changes.added.back() == user) return;
  if (user.index() < num_base_ops_) {
    const auto back = std::find(changes.dropped.begin(), changes.dropped.end(), user);
    if (back != changes.dropped.end()) {
      changes.dropped.erase(back);
      return;
    }
    const auto known = vars[id.index()].uses.view();
    if (std::find(known.begin(), known.end(), user) != known.end()) return;
  }
  changes.added.push_back(user);
}

void UseEdits::drop(VarId id, OpId user) {
  Changes& changes = changes_[id];
  const auto added = std::find(changes.added.begin(), changes.added.end(), user);
  if (added != changes.added.end()) {
    changes.added.erase(added);
  } else {
    changes.dropped.push_back(user);
  }
}

void UseEdits::drop_inputs(const Operation& op, OpId id, const std::vector<Argument>& kept) {
  const std::vector<Argument>& inputs = op.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto same = [&](const Argument& argument) { return argument.var == inputs[i].var; };
    const auto here = inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(inputs.begin(), here, same)) continue;  // lists have an operator once
    if (std::none_of(kept.begin(), kept.end(), same)) drop(inputs[i].var, id);
  }
}

void UseEdits::read(const VarTable& vars, VarId id, const Changes* changes,
                    std::vector<OpId>& uses) {
  const auto known = vars[id.index()].uses.view();
  uses.assign(known.begin(), known.end());
  if (changes == nullptr) return;
  if (!changes->dropped.empty()) {
    auto dropped = changes->dropped;
    std::sort(dropped.begin(), dropped.end());
    std::erase_if(
        uses, [&](OpId user) { return std::binary_search(dropped.begin(), dropped.end(), user); });
  }
  uses.insert(uses.end(), changes->added.begin(), changes->added.end());
}

std::vector<OpId> UseEdits::uses(const VarTable& vars, VarId id) const {
  const auto found = changes_.find(id);
  std::vector<OpId> uses;
  read(vars, id, found == changes_.end() ? nullptr : &found->second, uses);
  return uses;
}

void UseEdits::write(VarTable& vars) {
  // The lists are independent, so the order of this loop does not matter.
  std::vector<OpId> uses;
  for (const auto& [id, changes] : changes_) {
    read(vars, id, &changes, uses);
    vars.edit(id.index()).uses = SharedArray<OpId>(uses);
  }
  changes_.clear();
}

std::string_view to_name(Edit::Kind kind) {
  constexpr std::array<std::string_view, 10> kNames{
      "create_var",   "insert_before", "insert_after",  "remove_op", "remove_var",
      "rename_input", "add_input",     "set_arguments", "set_attr",  "place_var"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Marks the log as broken during an edit. If the edit throws, the log stays broken.
class EditLog::Guard {
 public:
  explicit Guard(EditLog& log) : log_(log) {
    SHARDWRIGHT_CHECK(log.state_ == State::kOpen);
    log.state_ = State::kBroken;
    if (log.counters_.edits >= log.limit_) throw EditLimitReached();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  void done() { log_.state_ = State::kOpen; }

 private:
  EditLog& log_;
};

EditLog::EditLog(Program base, SyncMode mode)
    : base_(std::move(base)),
      mode_(mode),
      ops_(base_.ops_),
      vars_(base_.vars_),
      blocks_(base_.num_blocks()),
      uses_(base_.op_capacity()),
      communication_(base_.communication_) {}

const Block& EditLog::block(BlockId id) const {
  const auto& changed = blocks_[id.index()];
  return changed == nullptr ? base_.block(id) : *changed;
}

Block& EditLog::edit_block(BlockId id) {
  auto& changed = blocks_[id.index()];
  if (changed == nullptr) changed = std::make_unique<Block>(base_.block(id));
  return *changed;
}

void EditLog::record(Edit edit) {
  edits_.push_back(edit);
  ++counters_.edits;
}

void EditLog::count_sync(BlockId id) {
  const Block& own = block(id);
  counters_.items_scanned += own.num_ops + own.num_vars;
  ++counters_.mirror_syncs;
}

VarId EditLog::create_var(Variable variable) {
  Guard guard(*this);
  const VarId id(vars_.size());
  ++edit_block(variable.block).num_vars;
  vars_.push_back({std::make_shared<const Variable>(std::move(variable)), {}});
  record({Edit::Kind::kCreateVar, {}, {}, id, {}});
  guard.done();
  return id;
}

OpId EditLog::link(OpId anchor, bool before, Operation op) {
  Guard guard(*this);
  const BlockId owner = block_of(anchor);
  if (mode_ == SyncMode::kPerInsert) count_sync(owner);
  const OpId id(ops_.size());
  Program::OpSlot slot;
  slot.op = std::make_shared<const Operation>(std::move(op));
  slot.block = owner;
  slot.previous = before ? previous(anchor) : anchor;
  slot.next = before ? anchor : next(anchor);
  const std::shared_ptr<const Operation> inserted = slot.op;
  const OpId left = slot.previous;
  const OpId right = slot.next;
  ops_.push_back(std::move(slot));
  Block& changed = edit_block(owner);
  (left.valid() ? ops_.edit(left.index()).next : changed.first) = id;
  (right.valid() ? ops_.edit(right.index()).previous : changed.last) = id;
  ++changed.num_ops;
  for (const Argument& input : inserted->inputs)
    uses_.add(vars_, input.var, id);
  const Edit::Kind kind = before ? Edit::Kind::kInsertBefore : Edit::Kind::kInsertAfter;
  record({kind, anchor, id, {}, {}});
  ++counters_.inserted_ops;
  guard.done();
  return id;
}

OpId EditLog::insert_before(OpId anchor, Operation op) { return link(anchor, true, std::move(op)); }
OpId EditLog::insert_after(OpId anchor, Operation op) { return link(anchor, false, std::move(op)); }

void EditLog::remove(OpId id) {
  Guard guard(*this);
  const std::shared_ptr<const Operation> gone = ops_[id.index()].op;
  const OpId left = previous(id);
  const OpId right = next(id);
  Block& changed = edit_block(block_of(id));
  (left.valid() ? ops_.edit(left.index()).next : changed.first) = right;
  (right.valid() ? ops_.edit(right.index()).previous : changed.last) = left;
  --changed.num_ops;
  uses_.drop_inputs(*gone, id, {});
  ops_.edit(id.index()).op = nullptr;
  record({Edit::Kind::kRemoveOp, id, {}, {}, {}});
  guard.done();
}

void EditLog::remove(VarId id) {
  Guard guard(*this);
  --edit_block(var(id).block).num_vars;
  vars_.edit(id.index()).var = nullptr;
  record({Edit::Kind::kRemoveVar, {}, {}, id, {}});
  guard.done();
}

void EditLog::rename_input(OpId id, VarId old_var, VarId new_var, const DimsMapping* wanted) {
  Guard guard(*this);
  auto copy = std::make_shared<Operation>(op(id));
  bool still_read = false;
  for (Argument& input : copy->inputs) {
    if (input.var != old_var) continue;
    if (wanted == nullptr || input.dims_mapping == *wanted) {
      input.var = new_var;
    } else {
      still_read = true;
    }
  }
  if (!still_read) uses_.drop(old_var, id);
  uses_.add(vars_, new_var, id);
  edit_block(block_of(id));
  ops_.edit(id.index()).op = std::move(copy);
  record({Edit::Kind::kRenameInput, id, {}, new_var, old_var});
  guard.done();
}

void EditLog::add_input(OpId id, Argument argument) {
  Guard guard(*this);
  auto copy = std::make_shared<Operation>(op(id));
  const VarId var = argument.var;
  copy->inputs.push_back(std::move(argument));
  uses_.add(vars_, var, id);
  edit_block(block_of(id));
  ops_.edit(id.index()).op = std::move(copy);
  record({Edit::Kind::kAddInput, id, {}, var, {}});
  guard.done();
}

void EditLog::set_arguments(OpId id, std::vector<Argument> inputs, std::vector<Argument> outputs) {
  Guard guard(*this);
  auto copy = std::make_shared<Operation>(op(id));
  uses_.drop_inputs(*copy, id, inputs);
  for (const Argument& input : inputs) {
    const auto same = [&](const Argument& known) { return known.var == input.var; };
    if (std::none_of(copy->inputs.begin(), copy->inputs.end(), same))
      uses_.add(vars_, input.var, id);
  }
  copy->inputs = std::move(inputs);
  copy->outputs = std::move(outputs);
  edit_block(block_of(id));
  ops_.edit(id.index()).op = std::move(copy);
  record({Edit::Kind::kSetArguments, id, {}, {}, {}});
  guard.done();
}

void EditLog::set_attribute(OpId id, const std::string& name, AttributeValue value) {
  Guard guard(*this);
  auto copy = std::make_shared<Operation>(op(id));
  auto found = std::find_if(copy->attributes.begin(), copy->attributes.end(),
                            [&](const auto& attribute) { return attribute.first == name; });
  if (found == copy->attributes.end()) {
    copy->attributes.emplace_back(name, std::move(value));
  } else {
    found->second = std::move(value);
  }
  edit_block(block_of(id));
  ops_.edit(id.index()).op = std::move(copy);
  record({Edit::Kind::kSetAttribute, id, {}, {}, {}});
  guard.done();
}

void EditLog::place(VarId id, MeshId mesh, DimsMapping dims_mapping) {
  Guard guard(*this);
  auto copy = std::make_shared<Variable>(var(id));
  copy->mesh = mesh;
  copy->dims_mapping = std::move(dims_mapping);
  vars_.edit(id.index()).var = std::move(copy);
  record({Edit::Kind::kPlaceVar, {}, {}, id, {}});
  guard.done();
}

void EditLog::set_communication(std::shared_ptr<const Communication> communication) {
  communication_ = std::move(communication);
}

Result<Program> EditLog::commit() {
  if (state_ != State::kOpen) {
    return invalid_input("", state_ == State::kBroken ? "an edit of this log failed"
                                                      : "this log was committed or rolled back");
  }
  state_ = State::kBroken;
  uses_.write(vars_);
  Program next = base_;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] == nullptr) continue;
    if (mode_ == SyncMode::kPerCommit) count_sync(BlockId(i));
    next.blocks_ = next.blocks_.set(i, std::make_shared<const Block>(*blocks_[i]));
  }
  next.communication_ = communication_;
  next.ops_ = std::move(ops_).finish();
  next.vars_ = std::move(vars_).finish();
  ++counters_.commits;
  state_ = State::kClosed;
  return next;
}

void EditLog::rollback() {
  state_ = State::kClosed;
  ops_ = Program::Ops::Editor(base_.ops_);
  vars_ = Program::Vars::Editor(base_.vars_);
  for (auto& block : blocks_)
    block.reset();
  uses_.clear();
  communication_ = base_.communication_;
  edits_.clear();
}

}  // namespace shardwright::program
