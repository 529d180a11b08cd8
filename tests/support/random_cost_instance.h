// Random cost instances that look like those of compilers: layers, mostly functional edges, things
// that live for a while.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/operators/cost_instance.h"

namespace shardwright::test_support {

struct RandomCostInstanceStyle {
  std::size_t num_nodes = 1000;
  std::uint32_t max_strategies = 12;
  double functional_share = 0.8;  // of edges; in these one or two partners per strategy are allowed
  double slack = 1.1;             // limit / smallest peak; 0 = no limit
  std::size_t layer_width = 8;    // nodes
  double repeated_share = 0.5;    // of layers that copy the costs of the one before
};

// The same for the same seed, on any machine. A choice within the limit exists: every node's
// strategy of least bytes may be combined with those of all its neighbours.
operators::CostInstanceSpec random_cost_instance(std::uint64_t seed,
                                                 const RandomCostInstanceStyle& style = {});

}  // namespace shardwright::test_support
