// The public entry for building operator graphs: strategies and resharding costs.
#pragma once

#include <memory>
#include <string_view>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/status.h"
#include "search/operators/strategies/cost_graph.h"

namespace shardwright {

struct BuiltOperators {
  operators::CostGraph costs;
  int threads = 1;
  double build_s = 0;
};

// Computes the costs of `graph` on `mesh` with `threads` threads (0 = all cores), whose number does
// not change the costs. operators::lower() turns the costs into a problem for solve_operators().
// Errors: kInvalidInput for `threads` below 0 or above 4096; as operators::build_cost_graph().
// Thread safety: may be called from any number of threads at once.
Result<BuiltOperators> build_operators(const operators::OpGraph& graph,
                                       std::shared_ptr<const operators::DeviceMesh> mesh,
                                       int threads = 0);

// Makes a mesh from its extents ("2x4", "8"), with alpha = beta = 1. Errors: kInvalidInput.
Result<std::shared_ptr<const operators::DeviceMesh>> parse_mesh(std::string_view text);

}  // namespace shardwright
