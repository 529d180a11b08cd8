// The least that moves cost, by the set of axes that they act on and the set of sharded axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "search/redistribution/cost/step_costs.h"
#include "search/redistribution/cost/tensor_on_mesh.h"
#include "search/redistribution/path/estimate/patterns.h"

namespace shardwright::redistribution {

// Calls visit(set) for every non-empty part of `whole`, or for those of one axis only.
template <class Visit>
void for_each_part(AxisSet whole, bool groups, const Visit& visit) {
  if (groups) {
    for (AxisSet part = whole; part != 0; part = (part - 1) & whole)
      visit(part);
  } else {
    for (AxisSet rest = whole; rest != 0; rest &= rest - 1)
      visit(rest & (~rest + 1));
  }
}

// Knows neither the dimensions that the axes shard nor, if pieces are uneven, what the largest
// device holds. If the model is monotone it prices the least that can be; otherwise all that can
// be, of which there is one if pieces are even. Asks the model once per kind and sets.
// Thread safety: one thread at a time.
class SetCosts {
 public:
  // Refers to its arguments. O(4^axes) memory.
  SetCosts(const TensorOnMesh& tensor, const StepCosts& costs);

  // `axes` are sharded before a gather or an exchange, and not sharded before other moves.
  // `sharded`: all that are sharded before the move.
  double least(Move::Kind kind, AxisSet axes, AxisSet sharded);
  // Of an exchange that moves these axes and may move other sharded ones with them.
  double least_exchange(AxisSet axes, AxisSet sharded, bool groups);
  // Of devices that change places along these axes and any others, two at least.
  double least_permute(AxisSet axes, AxisSet sharded);
  // The devices along these axes together.
  std::int64_t parts(AxisSet axes) const;

 private:
  double price(Move::Kind kind, AxisSet axes, AxisSet sharded);
  std::int64_t least_held(AxisSet sharded) const;
  // What the largest device may hold, ascending.
  const std::vector<std::int64_t>& all_held(AxisSet sharded);
  void add_held(std::size_t dim, AxisSet left, std::int64_t held,
                std::vector<std::int64_t>& all) const;
  // Each axis is a digit: not sharded, sharded and not moved, moved.
  std::size_t index_of(AxisSet axes, AxisSet sharded) const {
    return digits_[sharded | axes] + digits_[axes];
  }

  const TensorOnMesh& tensor_;
  const StepCosts& costs_;
  std::int64_t elements_;
  std::vector<double> table_;      // by kind and index; below 0 is not known yet
  std::vector<double> exchanges_;  // by index
  std::map<std::pair<AxisSet, AxisSet>, double> permutes_;  // by axes and sharded ones
  std::vector<std::vector<std::int64_t>> held_;             // by set; empty is not known yet
  std::vector<std::size_t> digits_;  // by set: a digit 1, to the base of 3, for each axis
  std::size_t table_size_;
};

}  // namespace shardwright::redistribution
