// Auto-sharding answers as text: the node table, cost tables, the schedule.
#pragma once

#include <cstddef>
#include <string>

#include "core/operators/autoshard/autoshard_graph.h"
#include "runtime/operators/autoshard.h"

namespace shardwright {

// The ops of the graph: a row per op and per parameter of its module.
std::string autoshard_node_table(const operators::autoshard::Graph& graph, std::size_t width);

// The cost table: a row per op with its decisions, per read and per output, then the total.
std::string autoshard_cost_table(const operators::autoshard::Evaluation& evaluation,
                                 std::size_t width);

// The whole report. `iterations` adds a cost table for every improvement.
std::string text_report(const AutoshardAnswer& answer, bool iterations, std::size_t width);

}  // namespace shardwright
