// The public entry for operator graphs: every strategy, every resharding cost, the merged form.
#pragma once

#include <memory>
#include <string_view>

#include "core/operators/graph/op_graph.h"
#include "core/operators/mesh/device_mesh.h"
#include "core/status.h"
#include "search/operators/build/cost_graph.h"

namespace shardwright {

struct BuiltOperators {
  operators::CostGraph costs;
  int threads = 1;
  double build_s = 0;
};

// Builds `graph` for `mesh` on `threads` threads (0 = all cores); the costs are the same for any
// number. operators::lower makes of them what solve_operators solves. Errors: kInvalidInput for
// `threads` below zero or above 4096; those of operators::build_cost_graph.
// Thread safety: may be called from any number of threads at once.
Result<BuiltOperators> build_operators(const operators::OpGraph& graph,
                                       std::shared_ptr<const operators::DeviceMesh> mesh,
                                       int threads = 0);

// A mesh from its extents, such as "2x4" or "8", with alpha = beta = 1. Errors: kInvalidInput.
Result<std::shared_ptr<const operators::DeviceMesh>> parse_mesh(std::string_view text);

}  // namespace shardwright
