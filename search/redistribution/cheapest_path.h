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
  bool found = true;  // false: no moves within the limits lead there; the cost is infinite
  // True: no sequence of allowed moves costs less, and none of equal cost needs less memory.
  bool is_optimal = true;
  std::vector<PathStep> steps;
  double cost = 0;
  // The most elements that a device holds during a step, input and output together; without steps,
  // its elements of the source.
  std::int64_t peak_elements = 0;

  // The steps that communicate.
  std::size_t num_collectives() const;
  friend bool operator==(const Path&, const Path&) = default;
};

// A placement with the best known way to it.
struct PathState {
  Placement at;
  double cost = 0;
  std::int64_t peak = 0;  // elements
  std::uint32_t num_steps = 0;
  std::uint32_t collectives = 0;  // number so far, if it is limited; otherwise 0
  std::uint32_t parent = 0;       // the state before the last move
  double left = 0;                // a lower bound of the cost from here to the target
};

// The open and closed states of the search: a hash table by placement and number of collectives,
// and a queue of the states to expand. Thread safety: one thread at a time.
class OpenStates {
 public:
  OpenStates();

  // The slot of a placement that was reached with this number of collectives, for wants() and
  // keep(). Valid until the next keep().
  std::size_t slot_of(const Placement& at, std::uint32_t collectives) const;
  // Returns true unless the known way is at least as good by cost, then memory, then steps.
  bool wants(std::size_t slot, double cost, std::int64_t peak, std::uint32_t num_steps) const {
    if (slots_[slot].index == 0) return true;
    const PathState& known = states_[slots_[slot].index - 1];
    if (cost != known.cost) return cost < known.cost;
    if (peak != known.peak) return peak < known.peak;
    return num_steps < known.num_steps;
  }
  // PathState::left of the state, if the state is known.
  std::optional<double> left(std::size_t slot) const {
    if (slots_[slot].index == 0) return std::nullopt;
    return states_[slots_[slot].index - 1].left;
  }
  // Adds the state, or replaces the known state of the slot.
  void keep(std::size_t slot, const PathState& state);
  // The index of the state to expand next: the lowest estimate among the states not expanded since
  // they improved; ties go to less memory, fewer steps and the older state. Empty if there is none.
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

// A path without a search. Reduces the partial axes that differ in the target, gathers the axes of
// every dimension beyond the common prefix with the target, and then makes the target's partial
// values and shards. Fails only if the model forbids one of these moves. O(axes + dimensions).
Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target);

// Thread safety: a value.
struct PathLimits {
  // Elements that a device may hold during a step, input and output together.
  std::int64_t elements = std::numeric_limits<std::int64_t>::max();
  // Steps that communicate.
  std::optional<std::uint32_t> collectives;
  // Placements that a search expands before it gives up. A search expands about a million a second;
  // a 2x2x2x2 mesh with 4 dimensions has 1,457 placements without partial axes.
  std::int64_t most_expanded = std::int64_t{1} << 18;
};

// The cheapest path, by A* over placements with the bound of CostEstimate. Of paths of equal cost,
// the path of less memory wins, then the path of fewer steps. If the search reaches
// `most_expanded`, it returns direct_path(), with is_optimal = false. Axes of one device count as
// replicated: the path leads from effective_placement() of the source to that of the target.
// Preconditions: a checked mesh, placements of the shape. Deterministic. Stops early, without a
// path, at a stop request. Cost: O(placements * moves).
Path find_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
               const Placement& source, const Placement& target, const PathLimits& limits = {},
               const std::stop_token& stop = {});

// The cheapest path to any placement without partial axes, by moves that reduce, gather or exchange
// only.
Path find_reducing_path(const TensorOnMesh& tensor, const StepCosts& costs, const MoveRules& rules,
                        const Placement& source);

// The Pareto front of cost and memory, from the cheapest path to the path that needs least memory.
std::vector<Path> pareto_paths(const TensorOnMesh& tensor, const StepCosts& costs,
                               const MoveRules& rules, const Placement& source,
                               const Placement& target, PathLimits limits = {},
                               const std::stop_token& stop = {});

}  // namespace shardwright::redistribution
