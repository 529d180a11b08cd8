// Finds strategies that another one of the same node always beats.
#pragma once

#include <cstdint>
#include <vector>

#include "search/operators/solve/reduce/reduction_graph.h"

namespace shardwright::operators {

// Strategy s is dominated by t if t costs at most as much whatever the neighbours choose, and holds
// at most as many bytes at any time. Keeps its scratch from node to node.
// Source: Goldstein, Efficient rotamer elimination applied to protein side-chains, 1994.
// Thread safety: one thread at a time.
class Dominance {
 public:
  // Removes the dominated strategies of the node; of equal ones, the first stays. Returns false if
  // there is none. Makes the segments of the node disjoint.
  bool remove_dominated(ReductionGraph& graph, std::uint32_t node);

 private:
  std::vector<char> kept_;
  std::vector<ReductionGraph::Side> sides_;
  std::vector<std::uint32_t> cheapest_;  // by edge: the partner that is cheapest for s
};

}  // namespace shardwright::operators
