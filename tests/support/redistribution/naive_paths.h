// Finds the cheapest redistribution by relaxing all moves until nothing changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"
#include "search/redistribution/step_costs.h"
#include "search/redistribution/visit_moves.h"

namespace shardwright::test_support {

// Tries every move that can be written down and asks check_move() which are possible. As in the
// search, an axis becomes partial only where the target is partial.
class NaivePaths {
 public:
  NaivePaths(const redistribution::TensorOnMesh& tensor, const redistribution::StepCosts& costs,
             const redistribution::Placement& source, const redistribution::Placement& target)
      : tensor_(tensor), costs_(costs), target_(target) {
    list_moves();
    list_placements(source, redistribution::Placement(), 0);
    list_placements(target, redistribution::Placement(), 0);
  }

  // Returns the cost of the cheapest path to the target. For every move, its input and output
  // together may have at most `most` elements. Returns infinity if there is no path.
  double cheapest(const redistribution::Placement& source, std::int64_t most) {
    std::map<std::uint64_t, double> best{{source.code(), 0}};
    for (bool changed = true; changed;) {
      changed = false;
      const std::map<std::uint64_t, double> known = best;
      for (const auto& [code, cost] : known) {
        const auto at = redistribution::Placement::of_code(code);
        for (const auto& move : moves_)
          changed = relax(at, cost, move, most, best) || changed;
        if (!costs_.knows_groups()) continue;
        for (const auto& other : placements_)
          changed = relax(at, cost, permute(at, other), most, best) || changed;
      }
    }
    num_placements = best.size();
    const auto found = best.find(target_.code());
    return found == best.end() ? std::numeric_limits<double>::infinity() : found->second;
  }
  std::size_t num_placements = 0;

 private:
  using Move = redistribution::Move;

  void list_moves() {
    std::vector<std::uint8_t> axes;
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
      axes.push_back(static_cast<std::uint8_t>(axis));
    for (std::uint32_t set = 1; set < std::uint32_t{1} << axes.size(); ++set) {
      redistribution::Axes chosen;
      for (const std::uint8_t axis : axes) {
        if ((set >> axis & 1) != 0) chosen.push_back(axis);
      }
      do {
        list_moves(chosen);
      } while (std::next_permutation(chosen.begin(), chosen.end()));
    }
  }

  void list_moves(const redistribution::Axes& axes) {
    const std::size_t dims = tensor_.shape.size();
    for (std::size_t kind = 0; kind < Move::kNumKinds; ++kind) {
      if (static_cast<Move::Kind>(kind) == Move::Kind::kPermute) continue;
      const bool single = static_cast<Move::Kind>(kind) == Move::Kind::kSplit ||
                          static_cast<Move::Kind>(kind) == Move::Kind::kToPartial;
      if (axes.size() > 1 && (single || !costs_.knows_groups())) continue;
      for (std::size_t from = 0; from < dims; ++from) {
        for (std::size_t to = 0; to < dims; ++to) {
          for (std::size_t op = 0; op < redistribution::kNumReduceOps; ++op) {
            moves_.push_back({static_cast<Move::Kind>(kind),
                              axes,
                              static_cast<std::uint8_t>(from),
                              static_cast<std::uint8_t>(to),
                              static_cast<redistribution::ReduceOp>(op),
                              {}});
          }
        }
      }
    }
  }

  // Lists all extensions of `at` to axes not in `used`. Partial axes have reductions of `end`.
  void list_placements(const redistribution::Placement& end, const redistribution::Placement& at,
                       std::uint32_t used) {
    placements_.push_back(at);
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if ((used >> axis & 1) != 0 || tensor_.mesh[axis] == 1) continue;
      const std::uint32_t more = used | std::uint32_t{1} << axis;
      for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim)
        list_placements(end, at.with_shard(axis, dim), more);
      for (std::size_t other = 0; other < tensor_.mesh.size(); ++other) {
        if (end.is_partial(other))
          list_placements(end, at.with_partial(axis, end.reduce_op(other)), more);
      }
    }
  }

  Move permute(const redistribution::Placement& from, const redistribution::Placement& to) const {
    Move move;
    move.kind = Move::Kind::kPermute;
    move.permuted = to;
    if (is_permutation(tensor_.shape, tensor_.mesh, from, to))
      move.axes = permuted_axes(tensor_.mesh, from, to);
    return move;
  }

  bool relax(const redistribution::Placement& from, double cost, const Move& move,
             std::int64_t most, std::map<std::uint64_t, double>& best) const {
    if (!check_move(tensor_.mesh, tensor_.shape, from, move).ok()) return false;
    if (move.kind == Move::Kind::kToPartial &&
        !(target_.on(move.axes.front()) ==
          redistribution::AxisPlacement::partial(move.reduce_op))) {
      return false;
    }
    if (!reduces_as_due(from, move)) return false;
    const redistribution::Placement to = after(from, move);
    const std::int64_t held = largest_box(tensor_.shape, tensor_.mesh, from);
    const std::int64_t held_after = largest_box(tensor_.shape, tensor_.mesh, to);
    if (held + held_after > most) return false;
    std::int64_t parts = 1;
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
      parts *= from.is_shard(axis) ? tensor_.mesh[axis] : 1;
    const double total = cost + costs_.cost({move, held, held_after, parts});
    const auto [at, fresh] = best.try_emplace(to.code(), total);
    if (fresh) return total < std::numeric_limits<double>::infinity();
    if (total >= at->second) return false;
    at->second = total;
    return true;
  }

  // Returns false if a collective of one reduction would reduce an axis that has another one.
  static bool reduces_as_due(const redistribution::Placement& from, const Move& move) {
    if (move.kind != Move::Kind::kAllReduce && move.kind != Move::Kind::kReduceScatter) return true;
    return std::all_of(move.axes.begin(), move.axes.end(),
                       [&](std::uint8_t axis) { return from.reduce_op(axis) == move.reduce_op; });
  }

  const redistribution::TensorOnMesh& tensor_;
  const redistribution::StepCosts& costs_;
  redistribution::Placement target_;
  std::vector<Move> moves_;
  std::vector<redistribution::Placement> placements_;  // with repetitions
};

}  // namespace shardwright::test_support
