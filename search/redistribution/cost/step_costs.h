// What one step of a redistribution costs: the interface between the search and the cost models.
#pragma once

#include <cstdint>

#include "core/redistribution/placement/move.h"

namespace shardwright::redistribution {

// A move of one tensor, and what its cost depends on.
struct PricedMove {
  const Move& move;
  std::int64_t held_before;   // elements of the largest device before the move
  std::int64_t held_after;    // and after it
  std::int64_t parts_before;  // devices that a whole tensor is spread over before the move
};

// Thread safety: const members may be called from any thread.
class StepCosts {
 public:
  virtual ~StepCosts() = default;

  // Not negative; infinite if the model forbids the move. Pure, and does not allocate. The unit is
  // that of the model, usually microseconds. Moves of dimension 0, and exchanges of dimensions 0
  // and 1, cost no more than the same moves of others. Of what devices hold, the larger one of
  // before and after the move may count in any way; the smaller one makes no move cheaper as it
  // grows.
  virtual double cost(const PricedMove& step) const = 0;

  // Returns true if no move costs less when devices hold more elements, the tensor being spread
  // over fewer devices. The search then asks for fewer costs.
  virtual bool is_monotone() const { return false; }

  // Returns true if collectives over several axes at once, or messages by which devices change
  // places, have a finite cost. Messages along more axes cost no less. The search tries such moves
  // only then.
  virtual bool knows_groups() const { return false; }

 protected:
  StepCosts() = default;
  StepCosts(const StepCosts&) = default;
  StepCosts& operator=(const StepCosts&) = default;
};

}  // namespace shardwright::redistribution
