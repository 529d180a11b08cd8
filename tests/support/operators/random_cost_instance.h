// Random cost instances like those of compilers: layers, mostly functional edges, memory that is
// held for some time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::test_support {

struct RandomCostInstanceStyle {
  std::size_t num_nodes = 1000;
  std::uint32_t min_strategies = 1;
  std::uint32_t max_strategies = 12;
  double functional_share = 0.8;  // of edges; in these one or two partners per strategy are allowed
  double slack = 1.1;             // limit / smallest peak; 0 = no limit
  std::size_t layer_width = 8;    // nodes
  double repeated_share = 0.5;    // of layers that copy the costs of the one before
  double long_lived_share = 0;    // of nodes held for up to half of all time
};

// The same seed gives the same instance on any machine. A choice within the limit exists:
// strategies of least bytes are compatible along all edges.
operators::CostInstanceSpec random_cost_instance(std::uint64_t seed,
                                                 const RandomCostInstanceStyle& style = {});

// In the form of the IOPDDL contest. Precondition: one usage per node, the same limit everywhere.
std::string contest_text(const operators::CostInstanceSpec& spec);

}  // namespace shardwright::test_support
