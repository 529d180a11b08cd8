// Writes cost graphs in ColossalAI's instance format.
#pragma once

#include "core/operators/graph/op_graph.h"
#include "runtime/io/text_sink.h"
#include "search/operators/strategies/cost_graph.h"

namespace shardwright {

// Writes the keys name, mesh, counters, num_nodes, num_strategies, edges_before, edges_after, nodes
// (name, op, target, shape, inputs, merge, strategies with specs by operand, compute, comm, mem),
// edges and edges_merged ([node, node, matrix]), following, extra_node_costs and alias_set (by
// node). For a tuple, specs are a list and shape is absent. Costs that are not finite become null.
// read_cost_instance() reads this format.
void write_cost_graph(const operators::OpGraph& graph, const operators::CostGraph& costs,
                      const TextSink& sink);

}  // namespace shardwright
