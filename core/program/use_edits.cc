#include "core/program/use_edits.h"

#include <algorithm>

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
    if (std::any_of(inputs.begin(), here, same)) continue;  // an operator is listed only once
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
  // Lists do not depend on each other, so their order does not matter.
  std::vector<OpId> uses;
  for (const auto& [id, changes] : changes_) {
    read(vars, id, &changes, uses);
    vars.edit(id.index()).uses = SharedArray<OpId>(uses);
  }
  changes_.clear();
}

}  // namespace shardwright::program
