// Simplifies cost instances without losing an optimum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// A smaller instance (the core) with the same optimum, and how to complete its choices.
struct Reduction {
  // Proved: the original has no feasible choice.
  bool infeasible = false;
  // The cost of all decisions that reduce() made. Add it to any cost of the core.
  double constant = 0;
  // The instance that remains; may have no nodes.
  std::unique_ptr<const CostInstance> core;

  // Completes a choice of the core to a choice of the original: each eliminated node takes its best
  // strategy given its neighbours.
  std::vector<std::uint32_t> expand(std::span<const std::uint32_t> core_choice) const;
  // The strategy of an eliminated node as a function of the strategies of up to two other nodes.
  // Nodes and strategies have the numbers of the original.
  struct Elimination {
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    std::uint32_t node = 0;
    std::uint32_t first = kNone;   // kNone: always best[0]
    std::uint32_t second = kNone;  // kNone: depends on the first only
    std::uint32_t columns = 1;     // strategies of the second
    std::vector<std::uint32_t> best;
  };
  std::vector<Elimination> eliminations;            // in order of elimination
  std::vector<std::uint32_t> core_nodes;            // core node -> original node
  std::vector<std::vector<std::uint32_t>> origins;  // [core node][core strategy]: original strategy
  std::vector<std::uint32_t> times;                 // core time point -> original time point
  std::size_t num_original_nodes = 0;
};

// Applies these rules until nothing changes:
// - remove strategies that have no allowed partner across some edge (arc consistency);
// - remove strategies that leave too little memory for the least bytes of all other nodes;
// - drop time points whose limit cannot be exceeded, and bytes that all strategies of a node hold;
// - drop edges whose cost is a sum of one term per side;
// - merge a node whose strategy is a function of a neighbour's into the neighbour, with its costs,
//   edges and memory;
// - remove strategies that another strategy of the node dominates, memory included;
// - eliminate nodes of up to two neighbours that hold no bytes at the time points left.
// If `kept`, flat by node and strategy, is not empty, its strategies of value 0 are removed first.
// Cost: about a second for 35,000 nodes and 6 million matrix entries.
// Source: Dechter, Bucket elimination, 1999 (elimination of nodes); Dominance in reduce.cc.
Reduction reduce(const CostInstance& instance, const Budget& budget,
                 std::span<const char> kept = {}, const ReduceParameters& parameters = {});

}  // namespace shardwright::operators
