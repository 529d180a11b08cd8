// A redistribution as a sequence of moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "search/redistribution/step_costs.h"
#include "search/redistribution/visit_moves.h"

namespace shardwright::redistribution {

struct PathStep {
  Move move;
  Placement after;
  double cost = 0;  // in the unit of the model

  friend bool operator==(const PathStep&, const PathStep&) = default;
};

// Thread safety: a value.
struct Path {
  bool found = true;  // false: no moves within the limits lead there; the cost is infinite
  // True: no other sequence of the moves that the rules allow costs less; of those that cost as
  // much, none needs less memory.
  bool is_optimal = true;
  std::vector<PathStep> steps;
  double cost = 0;
  // What the largest device holds in the course of a step, input and output together. At least what
  // it holds at the source.
  std::int64_t peak_elements = 0;

  // The steps that communicate.
  std::size_t num_collectives() const;
  friend bool operator==(const Path&, const Path&) = default;
};

// A placement with the best way to it that is known.
struct PathState {
  Placement at;
  double cost = 0;
  std::int64_t peak = 0;  // elements
  std::uint32_t num_steps = 0;
  std::uint32_t collectives = 0;  // on the way, if they are limited; otherwise 0
  std::uint32_t parent = 0;       // the state before the last move
  double left = 0;                // at least what any path from here costs
};

// A table of states, found by placement and number of collectives, and a queue of those to expand.
// Thread safety: one thread at a time.
class OpenStates {
 public:
  OpenStates();

  // The place of a placement, for wants() and keep(), until the next keep(). Placements on the way
  // to which another number of collectives was needed have another place.
  std::size_t slot_of(const Placement& at, std::uint32_t collectives) const;
  // Returns true unless a way is known that is at least as good: it costs less, or as much with
  // less memory, or as much of both with fewer steps.
  bool wants(std::size_t slot, double cost, std::int64_t peak, std::uint32_t num_steps) const {
    if (slots_[slot].index == 0) return true;
    const PathState& known = states_[slots_[slot].index - 1];
    if (cost != known.cost) return cost < known.cost;
    if (peak != known.peak) return peak < known.peak;
    return num_steps < known.num_steps;
  }
  // At least what any path from the state costs, if the state is known.
  std::optional<double> left(std::size_t slot) const {
    if (slots_[slot].index == 0) return std::nullopt;
    return states_[slots_[slot].index - 1].left;
  }
  // Adds the state, or replaces the one that is known.
  void keep(std::size_t slot, const PathState& state);
  // The index of the state with the lowest estimate that has not been expanded since it improved;
  // ties go to less memory, fewer steps and the older state. Empty if there is none.
  std::optional<std::uint32_t> next();

  const PathState& operator[](std::uint32_t index) const { return states_[index]; }
  std::size_t size() const { return states_.size(); }

 private:
  struct Slot {
    std::uint64_t code = 0;
    std::uint32_t collectives = 0;
    std::uint32_t index = 0;  // 1 + that of the state; 0 is free
  };
  struct Entry {
    double estimate;
    std::int64_t peak;
    std::uint32_t num_steps;
    std::uint32_t index;
    double cost;
  };
  static bool comes_later(const Entry& a, const Entry& b);
  void grow();

  std::vector<PathState> states_;
  std::vector<Slot> slots_;
  std::vector<Entry> heap_;
};

// Reduces what is due and the target has not, gathers the axes of every dimension beyond those that
// the target shards in the same order, and then makes the target's shards and partial values. The
// path is found unless the model forbids one of these moves. O(axes + dimensions).
Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target);

// Thread safety: a value.
struct PathLimits {
  // A device may hold no more elements in the course of a step, input and output together.
  std::int64_t elements = std::numeric_limits<std::int64_t>::max();
  // No more steps that communicate.
  std::optional<std::uint32_t> collectives;
  // Placements that a search expands before it gives up. A search expands about a million a second;
  // a 2x2x2x2 mesh with 4 dimensions has 1,457 placements without partial axes.
  std::int64_t most_expanded = std::int64_t{1} << 18;
};

// A* over placements with the bound of CostEstimate. Of paths of
// equal cost, the one of less memory wins, then the one of fewer steps. If the search reaches
// `most_expanded`, it returns direct_path(), which is marked as perhaps not optimal.
// Axes of one device do nothing, and count as replicated in the path: it leads from
// effective_placement() of the source to that of the target.
// Preconditions: a checked mesh, placements of the shape. Deterministic. Stops early, without a
// path, at a stop request. Cost: O(placements * moves).
Path find_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
               const Placement& source, const Placement& target, const PathLimits& limits = {},
               const std::stop_token& stop = {});

// The cheapest path to any placement without partial axes, by moves that reduce, gather or exchange
// only.
Path find_reducing_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
                        const Placement& source);

// The paths that no other one beats in both cost and memory, from the cheapest to the one that
// needs least memory.
std::vector<Path> pareto_paths(const TensorOnMesh& tensor, const StepCosts& costs,
                               const MoveRules& rules, const Placement& source,
                               const Placement& target, PathLimits limits = {},
                               const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
