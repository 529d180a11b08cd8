// How every tensor of a graph lies on a mesh.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/aten/graph/aten_graph.h"
#include "core/operators/aten/memory/moving_bytes.h"
#include "core/operators/aten/plan/overlap.h"
#include "core/operators/aten/plan/roofline.h"

namespace shardwright::operators {

// A redistribution before an operator costs its time for every consumer anew.
struct AtenNodePlan {
  std::vector<MaybePlacement> outputs;
  std::vector<MaybePlacement> inputs;  // what the operator takes
  double compute_us = 0;
  std::vector<double> redistribute_us;  // by input; 0 where nothing moves
  std::vector<double> hidden_us;        // of these; empty if nothing overlaps
};

struct AtenOutputPlan {
  redistribution::Placement placement;
  double redistribute_us = 0;
  double hidden_us = 0;  // of it
};

// Thread safety: a value.
struct AtenPlan {
  redistribution::MeshShape mesh;
  CollectiveBackend backend = CollectiveBackend::kNccl;
  OverlapShares overlap;
  std::vector<AtenNodePlan> nodes;      // by node of the graph
  std::vector<AtenOutputPlan> outputs;  // by output of the graph
};

}  // namespace shardwright::operators
