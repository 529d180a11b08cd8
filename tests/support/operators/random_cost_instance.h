// Random cost instances like those of compilers: nodes in layers, mostly functional edges (one or
// two partners per strategy), and memory that is held for some time.
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
  double functional_share = 0.8;  // share of edges that are functional
  double slack = 1.1;             // limit / smallest peak; 0 = no limit
  std::size_t layer_width = 8;    // nodes
  double repeated_share = 0.5;    // share of layers that copy the costs of the layer before
  double long_lived_share = 0;    // share of nodes whose memory is held for up to half of the time
};

// The same seed gives the same instance on any machine. A choice within the limit always exists,
// because edges allow the strategies of least bytes with each other.
operators::CostInstanceSpec random_cost_instance(std::uint64_t seed,
                                                 const RandomCostInstanceStyle& style = {});

// Returns the instance in the format of the IOPDDL contest. Preconditions: one usage per node; the
// memory limit is the same at all times.
std::string contest_text(const operators::CostInstanceSpec& spec);

}  // namespace shardwright::test_support
