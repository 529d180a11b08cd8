// Enumerates the moves that a redistribution may consist of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::redistribution {

// Thread safety: a value.
struct MoveRules {
  // Allows moves that gather, exchange or scatter pieces of unequal size. If false, only a slice of
  // a whole dimension into the target's shards may make uneven pieces.
  bool uneven = true;
  // Allows slices that the target does not have, since smaller pieces move at lower cost.
  bool detours = true;
  // Allows collectives over several axes at once, and messages that permute devices.
  bool groups = true;
  // Allows only the conversions of ColossalAI's sharding specs. The axes of a dimension are in
  // ascending order. An exchange moves the only axis of a dimension to a dimension without axes, or
  // to an earlier dimension with one axis. Source: get_all_one_step_transform_spec, ColossalAI
  // colossalai/tensor/shape_consistency.py.
  bool colossal = false;
};

// Enumerates the moves from placements, one placement per call. Refers to the tensor.
// Thread safety: one thread at a time.
class MoveVisitor {
 public:
  // `aim`: the target of the path. An axis may become partial only if it is partial in `aim`. Its
  // shards matter only if MoveRules::detours or MoveRules::uneven is false. O(dimensions * 2^axes).
  MoveVisitor(const TensorOnMesh& tensor, const MoveRules& rules, const Placement& aim);

  // Calls visit(const Move&, const Placement& after, held_after) for each move, in a fixed order:
  // gathers and exchanges by dimension, then reductions, slices and new partial values by axis,
  // then reductions over several axes, then permutations of devices if `permutes`. `held_after`:
  // the most elements on any device after the move. Allocates nothing.
  template <class Visit>
  void visit(const Placement& from, const Visit& visit, bool permutes = true) {
    load(from);
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
      visit_unshard(dim, visit);
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if (tensor_.mesh[axis] == 1 && !rules_.colossal) continue;
      if (from_.is_partial(axis)) {
        visit_reduce(axis, visit);
      } else if (from_.is_replicate(axis)) {
        visit_replicated(axis, visit);
      }
    }
    if (!rules_.groups) return;
    visit_joint_reductions(visit);
    if (!permutes) return;
    find_roles();
    if (num_roles_ > 0) visit_permutes(0, roles_[0].devices, 0, wide_, Placement(), visit);
  }
  // For the placement `from` of the last visit(): the most elements on any device, and the number
  // of shards of the whole tensor.
  std::int64_t held() const { return held_; }
  std::int64_t parts() const { return parts_; }

 private:
  // A dimension in the placement `from_`.
  struct Dim {
    Axes axes;
    std::uint32_t set = 0;    // the same axes as bits
    std::int64_t others = 0;  // product of the largest shard's other extents
  };
  // The pieces into which a set of axes cuts a dimension.
  struct Pieces {
    std::int64_t largest;  // extent of the longest piece
    bool is_even;
  };

  void load(const Placement& from);
  static std::uint32_t set_of(const Axes& axes) {
    std::uint32_t set = 0;
    for (const std::uint8_t axis : axes)
      set |= std::uint32_t{1} << axis;
    return set;
  }
  const Pieces& pieces(std::size_t dim, std::uint32_t set) const {
    return pieces_[dim << tensor_.mesh.size() | set];
  }
  // Returns the most elements on any device if the axes of `set` sharded the dimension.
  std::int64_t held_with(std::size_t dim, std::uint32_t set) const {
    return dims_[dim].others * pieces(dim, set).largest;
  }
  bool may_be(std::size_t dim, std::uint32_t set) const {
    return rules_.uneven || pieces(dim, set).is_even;
  }
  bool may_append(std::size_t dim, const Axes& axes) const {
    return !rules_.colossal || dims_[dim].axes.empty() || dims_[dim].axes.back() < axes.front();
  }
  bool may_exchange(std::size_t from, std::size_t to) const;
  // Returns true if the target shards `dim` by its present axes and then by `axis`.
  bool is_wanted(std::size_t axis, std::size_t dim) const;
  bool may_become_partial(ReduceOp op) const;
  bool may_slice(std::size_t axis, std::size_t dim) const;

  template <class Visit>
  void visit_unshard(std::size_t dim, const Visit& visit) {
    const Dim& source = dims_[dim];
    if (source.axes.empty() || !may_be(dim, source.set)) return;
    const std::size_t most = rules_.groups ? source.axes.size() : 1;
    Move move;
    move.from = static_cast<std::uint8_t>(dim);
    for (std::size_t count = 1; count <= most; ++count) {
      move.axes.assign(source.axes.end() - static_cast<std::ptrdiff_t>(count), source.axes.end());
      const std::uint32_t set = set_of(move.axes);
      const std::int64_t left = pieces(dim, source.set & ~set).largest;
      const Placement gathered = from_.with_replicates(move.axes);
      move.kind = Move::Kind::kAllGather;
      move.to = 0;
      visit(move, gathered, source.others * left);
      move.kind = Move::Kind::kAllToAll;
      for (std::size_t to = 0; to < tensor_.shape.size(); ++to) {
        const std::uint32_t joined = dims_[to].set | set;
        if (to == dim || !may_be(to, joined)) continue;
        if (!may_exchange(dim, to) || !may_append(to, move.axes)) continue;
        move.to = static_cast<std::uint8_t>(to);
        const std::int64_t now = pieces(dim, source.set).largest;
        const std::int64_t held = now == 0 ? 0 : held_with(to, joined) / now * left;
        visit(move, gathered.with_shards(move.axes, to, dims_[to].axes.size()), held);
      }
    }
  }

  template <class Visit>
  void visit_scatter(Move& move, const Visit& visit) {
    move.kind = Move::Kind::kReduceScatter;
    const std::uint32_t set = set_of(move.axes);
    for (std::size_t to = 0; to < tensor_.shape.size(); ++to) {
      const std::uint32_t joined = dims_[to].set | set;
      if (!may_be(to, joined) || !may_append(to, move.axes)) continue;
      move.to = static_cast<std::uint8_t>(to);
      visit(move, from_.with_shards(move.axes, to, dims_[to].axes.size()), held_with(to, joined));
    }
  }

  template <class Visit>
  void visit_reduce(std::size_t axis, const Visit& visit) {
    Move move;
    move.axes.push_back(static_cast<std::uint8_t>(axis));
    move.reduce_op = from_.reduce_op(axis);
    move.kind = Move::Kind::kAllReduce;
    visit(move, from_.with_replicate(axis), held_);
    visit_scatter(move, visit);
  }

  template <class Visit>
  void visit_replicated(std::size_t axis, const Visit& visit) {
    Move move;
    move.axes.push_back(static_cast<std::uint8_t>(axis));
    move.kind = Move::Kind::kSplit;
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
      if (!may_slice(axis, dim) || !may_append(dim, move.axes)) continue;
      move.to = static_cast<std::uint8_t>(dim);
      visit(move, from_.with_shards(move.axes, dim, dims_[dim].axes.size()),
            held_with(dim, dims_[dim].set | std::uint32_t{1} << axis));
    }
    if (!aim_.is_partial(axis) || !may_become_partial(aim_.reduce_op(axis))) return;
    move.kind = Move::Kind::kToPartial;
    move.to = 0;
    move.reduce_op = aim_.reduce_op(axis);
    visit(move, from_.with_partial(axis, move.reduce_op), held_);
  }

  // Visits reductions of one kind over every set of at least two axes, and reduce-scatters in every
  // order of these axes.
  template <class Visit>
  void visit_joint_reductions(const Visit& visit) {
    for (std::uint32_t set = 3; set <= partial_; ++set) {
      if ((set & ~partial_) != 0 || (set & (set - 1)) == 0) continue;
      Move move;
      if (!joint_axes(set, move)) continue;
      move.kind = Move::Kind::kAllReduce;
      move.to = 0;
      visit(move, from_.with_replicates(move.axes), held_);
      do {
        visit_scatter(move, visit);
      } while (next_order(move.axes));
    }
  }
  // Sets move.axes and move.reduce_op. Returns false if the axes of `set` have several reductions.
  bool joint_axes(std::uint32_t set, Move& move) const;
  static bool next_order(Axes& axes);

  // What a group of axes does together: the axes cut dimension `dim` into `devices` pieces, or hold
  // `devices` terms of a reduction. Axes without a role hold copies.
  struct Role {
    bool is_shard = false;
    std::size_t dim = 0;
    ReduceOp reduce_op = ReduceOp::kSum;
    std::int64_t devices = 1;  // product of the sizes of its axes
  };
  void find_roles();

  // Visits every placement in which the roles have other axes. `left`: the number of devices that
  // role number `role` still needs axes for. `first`: the lowest axis that a reduction may take
  // next, as the order of its axes does not matter. `free`: the axes without a role so far.
  template <class Visit>
  void visit_permutes(std::size_t role, std::int64_t left, std::size_t first, std::uint32_t free,
                      const Placement& so_far, const Visit& visit) {
    if (left == 1) {
      if (++role < num_roles_) {
        visit_permutes(role, roles_[role].devices, 0, free, so_far, visit);
      } else if (so_far != from_) {
        Move move;
        move.kind = Move::Kind::kPermute;
        move.axes = permuted_axes(tensor_.mesh, from_, so_far);
        move.permuted = so_far;
        visit(move, so_far, held_);
      }
      return;
    }
    const Role& own = roles_[role];
    const Axes& now = dims_[own.dim].axes;
    for (std::size_t axis = own.is_shard ? 0 : first; axis < tensor_.mesh.size(); ++axis) {
      const std::int64_t size = tensor_.mesh[axis];
      if ((free >> axis & 1) == 0 || left % size != 0) continue;
      Placement next = so_far;
      if (own.is_shard) {
        const std::size_t index = so_far.num_axes(own.dim);
        // Uneven pieces depend on the order of the cuts, so only even pieces may be cut otherwise.
        const bool same_cut = index < now.size() && tensor_.mesh[now[index]] == size;
        if (!same_cut && !pieces(own.dim, dims_[own.dim].set).is_even) continue;
        next = so_far.with_shard(axis, own.dim);
      } else {
        next = so_far.with_partial(axis, own.reduce_op);
      }
      visit_permutes(role, left / size, axis + 1, free & ~(std::uint32_t{1} << axis), next, visit);
    }
  }

  const TensorOnMesh& tensor_;
  MoveRules rules_;
  Placement aim_;
  Placement from_;
  std::vector<Pieces> pieces_;  // by dimension and set of axes
  std::array<Dim, kMaxDims> dims_;
  std::array<Role, kMaxMeshAxes> roles_;  // the first num_roles_ are in use
  std::size_t num_roles_ = 0;
  std::uint32_t wide_ = 0;     // axes of size above 1, as bits
  std::uint32_t partial_ = 0;  // the partial axes as bits
  std::int64_t held_ = 0;
  std::int64_t parts_ = 1;
};

}  // namespace shardwright::redistribution
