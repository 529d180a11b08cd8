// Which collectives move the tensors of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/aten/plan/aten_plan.h"
#include "search/operators/aten/costs/transition_model.h"

namespace shardwright::operators {

// A tensor that lies otherwise than its consumer takes it.
struct AtenMove {
  bool to_output = false;   // of the graph, instead of to a node
  std::uint32_t index = 0;  // of the node, or of the output of the graph
  std::uint32_t input = 0;  // of the node
  double us = 0;            // what the plan says
  // The cheapest sequence of moves, also where the plan's time is AutoParallel's estimate.
  redistribution::Path path;
  std::int64_t sent_bytes = 0;  // by the device that sends most, in all steps

  friend bool operator==(const AtenMove&, const AtenMove&) = default;
};

// By node and input, then by output. Moves along axes of one device are left out. One search for
// each kind of move.
std::vector<AtenMove> moves_of(const AtenGraph& graph, const AtenPlan& plan,
                               const TransitionModel& transitions);

}  // namespace shardwright::operators
