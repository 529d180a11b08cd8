// What moving tensors between the variables of a plan costs, by placement.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/aten/plan/transition_costs.h"
#include "search/executor.h"
#include "search/operators/aten/model/aten_variables.h"

namespace shardwright::operators {

// A tensor on its way between variables of two classes. Choices that agree about where it lies
// (and, where they hide moving, about the time that they take) share a row or column. Thread
// safety: a value.
struct AtenTransfer {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<double> costs;             // row-major; kForbidden where it cannot be
  std::vector<std::uint32_t> row_of;     // by choice of the producer
  std::vector<std::uint32_t> column_of;  // by choice of the consumer

  double cost(std::uint32_t from, std::uint32_t to) const {
    return costs[std::size_t{row_of[from]} * columns + column_of[to]];
  }
};

struct AtenTransfers {
  struct Edge {
    std::uint32_t first = 0;  // variables
    std::uint32_t second = 0;
    std::uint32_t transfer = 0;
  };
  std::vector<AtenTransfer> transfers;
  // By consumer, then by input; then the outputs of the graph; then one per AtenPair, which forbids
  // different placements. A mover's own edge comes before the one to its consumer.
  std::vector<Edge> edges;
};

// A transfer is made once for all edges between the same classes. Tensors without a placement have
// no edge. A tensor with a mover has two: to the mover, where it moves, and on to the consumer,
// where different placements are forbidden. What an operator hides of moving a tensor is taken off
// the costs of the edge that knows the operator's choice; choices that take different times then
// have rows or columns of their own. The result does not depend on `executor`.
AtenTransfers make_transfers(const AtenVariables& variables, const Overlap& overlap,
                             TransitionCosts& costs, Executor& executor);

}  // namespace shardwright::operators
