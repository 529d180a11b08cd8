// The cheapest sequence of moves from one placement to another.
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
  // False: no allowed moves within the limits lead to the target, and the cost is infinite.
  bool found = true;
  // True: no sequence of allowed moves costs less, and no equally cheap one needs less memory.
  bool is_optimal = true;
  std::vector<PathStep> steps;
  double cost = 0;
  // The most elements on any device during a step, input and output together. Without steps, the
  // most elements on any device at the source.
  std::int64_t peak_elements = 0;

  // Returns the number of steps that communicate.
  std::size_t num_collectives() const;
  friend bool operator==(const Path&, const Path&) = default;
};

// A state of the search: a placement and the best known path to it.
struct PathState {
  Placement at;
  double cost = 0;
  std::int64_t peak = 0;  // elements
  std::uint32_t num_steps = 0;
  std::uint32_t collectives = 0;  // in the path so far; 0 if their number is not limited
  std::uint32_t parent = 0;       // index of the state before the last move
  double left = 0;                // a lower bound of the cost from here to the target
};

// All states of the search: a hash table by placement and number of collectives, and a heap of the
// states to expand. Thread safety: one thread at a time.
class OpenStates {
 public:
  OpenStates();

  // Returns the slot of a placement that was reached with this number of collectives. wants(),
  // left() and keep() take the slot. Valid until the next keep().
  std::size_t slot_of(const Placement& at, std::uint32_t collectives) const;
  // Returns true if the slot has no path yet or a worse one, by cost, then memory, then steps.
  bool wants(std::size_t slot, double cost, std::int64_t peak, std::uint32_t num_steps) const {
    if (slots_[slot].index == 0) return true;
    const PathState& known = states_[slots_[slot].index - 1];
    if (cost != known.cost) return cost < known.cost;
    if (peak != known.peak) return peak < known.peak;
    return num_steps < known.num_steps;
  }
  // Returns PathState::left of the slot's state; empty if the slot has no state.
  std::optional<double> left(std::size_t slot) const {
    if (slots_[slot].index == 0) return std::nullopt;
    return states_[slots_[slot].index - 1].left;
  }
  // Adds the state, or replaces the known state of the slot.
  void keep(std::size_t slot, const PathState& state);
  // Removes the state to expand next from the heap and returns its index; empty if the heap is. The
  // state with the lowest estimate, cost + left, comes first. Ties go to less memory, then fewer
  // steps, then the older state.
  std::optional<std::uint32_t> next();

  const PathState& operator[](std::uint32_t index) const { return states_[index]; }
  std::size_t size() const { return states_.size(); }

 private:
  struct Slot {
    std::uint64_t code = 0;
    std::uint32_t collectives = 0;
    std::uint32_t index = 0;  // 1 + index of the state; 0: the slot is free
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

// Builds a path without a search. It reduces the partial axes that differ in the target. In each
// dimension it gathers the axes after those that source and target have in common. Then it makes
// the target's partial values and shards. Finds no path only if the model forbids one of these
// moves. O(axes + dimensions).
Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target);

// Thread safety: a value.
struct PathLimits {
  // The most elements on any device during a step, input and output together.
  std::int64_t elements = std::numeric_limits<std::int64_t>::max();
  // The most steps that communicate; empty: no limit.
  std::optional<std::uint32_t> collectives;
  // The most placements that a search expands before it gives up. It expands about a million a
  // second. A 2x2x2x2 mesh with 4 dimensions has 1,457 placements without partial axes.
  std::int64_t most_expanded = std::int64_t{1} << 18;
};

// Finds the cheapest path by A* over placements, with the lower bounds of CostEstimate. Of equally
// cheap paths, the path of less memory wins, then the path of fewer steps. If the search expands
// more than `most_expanded` placements, the result is direct_path() with is_optimal = false, or no
// path if direct_path() exceeds the limits. Axes of size 1 count as replicated, except with
// MoveRules::colossal: the path leads from effective_placement() of the source to that of the
// target. Preconditions: a checked mesh, placements of the shape. Deterministic. A stop request
// ends the search without a path. Cost: O(placements * moves).
Path find_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
               const Placement& source, const Placement& target, const PathLimits& limits = {},
               const std::stop_token& stop = {});

// Finds the cheapest path to any placement without partial axes. Makes no slices or partial values.
Path find_reducing_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
                        const Placement& source);

// Returns the Pareto front of cost and memory, from the cheapest path to the one of least memory.
std::vector<Path> pareto_paths(const TensorOnMesh& tensor, const StepCosts& costs,
                               const MoveRules& rules, const Placement& source,
                               const Placement& target, PathLimits limits = {},
                               const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
