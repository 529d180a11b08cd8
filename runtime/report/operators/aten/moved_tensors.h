// The tensors that a plan moves, with equal moves of repeated blocks as one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/operators/plan_aten.h"

namespace shardwright {

// Thread safety: a value.
struct MovedTensors {
  std::string tensor;  // a name in the model, or the operator that made it
  std::string module;  // of that operator
  std::string consumer;
  std::string consumer_module;
  bool backward = false;
  operators::AtenTensor whole;
  redistribution::Placement source;
  redistribution::Placement target;
  redistribution::Path path;
  double us = 0;  // of one
  std::int64_t sent_bytes = 0;
  std::size_t count = 0;
};

// Paths have the numbers that occur: "layers.0-31.mlp". The longest time of a row first. `moves`:
// those of the plan.
std::vector<MovedTensors> moved_tensors(const operators::AtenGraph& graph,
                                        const operators::AtenPlan& plan,
                                        std::span<const operators::AtenMove> moves);

}  // namespace shardwright
