// The placements that a search for a cheapest path has met, each stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "search/redistribution/path/path.h"

namespace shardwright::redistribution {

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

}  // namespace shardwright::redistribution
