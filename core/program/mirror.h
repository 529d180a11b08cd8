// A second listing of a program, as a host language keeps it, that has to be brought up to date by
// looking at everything.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/program.h"

namespace shardwright::program {

// What a mirror needs to see of a program: a version, or a log with its pending edits.
template <class View>
concept ProgramView = requires(const View& view, BlockId block, OpId op, VarId var) {
  view.block(block).first;
  view.next(op);
  view.op(op).type;
  view.var_capacity();
  view.has(var);
  view.var(var).block;
};

// Thread safety: one thread at a time.
class Mirror {
 public:
  // Reads every variable and operator of the block and makes the listing equal to it; the number of
  // items looked at. O(variables of the program + operators of the block).
  template <ProgramView View>
  std::uint64_t synchronise(const View& view, BlockId block) {
    std::vector<const Variable*> vars;
    std::vector<const Operation*> ops;
    for (std::size_t i = 0; i < view.var_capacity(); ++i) {
      const VarId id(i);
      if (view.has(id) && view.var(id).block == block) vars.push_back(&view.var(id));
    }
    for (OpId id = view.block(block).first; id.valid(); id = view.next(id)) {
      ops.push_back(&view.op(id));
    }
    if (listings_.size() <= block.index()) listings_.resize(block.index() + 1);
    Listing& listing = listings_[block.index()];
    listing.vars.swap(vars);
    listing.ops.swap(ops);
    ++syncs_;
    return listing.vars.size() + listing.ops.size();
  }

  std::uint64_t syncs() const { return syncs_; }
  // Operators in program order as of the last synchronisation; empty for a block never listed.
  std::size_t num_ops(BlockId block) const {
    return block.index() < listings_.size() ? listings_[block.index()].ops.size() : 0;
  }

 private:
  // Addresses in the version that was listed; never followed.
  struct Listing {
    std::vector<const Variable*> vars;
    std::vector<const Operation*> ops;
  };
  std::vector<Listing> listings_;
  std::uint64_t syncs_ = 0;
};

}  // namespace shardwright::program
