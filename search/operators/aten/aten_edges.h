// What moving tensors between the variables of a plan costs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/aten/transition_costs.h"
#include "core/operators/instance/cost_instance.h"
#include "search/executor.h"
#include "search/operators/aten/aten_variables.h"

namespace shardwright::operators {

struct AtenEdges {
  std::vector<CostInstanceSpec::Matrix> matrices;
  // By consumer, then by input; then the outputs of the graph; then one per AtenPair, which forbids
  // different placements.
  std::vector<CostInstanceSpec::Edge> edges;
};

// A matrix is made once for all edges between the same classes, and a transition is priced once for
// each pair of placements of such an edge. Tensors without a placement have no edge. The result does
// not depend on `executor`.
AtenEdges make_edges(const AtenVariables& variables, TransitionCosts& costs, Executor& executor);

}  // namespace shardwright::operators
