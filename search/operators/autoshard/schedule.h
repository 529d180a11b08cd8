// An assignment as the lines of a Slapo schedule.
#pragma once

#include <string>
#include <vector>

#include "core/operators/autoshard/autoshard_evaluate.h"

namespace shardwright::operators::autoshard {

// First the lines that shard parameters of modules, then those that reshard activations, each in
// graph order.
// Precondition: `assignment` has passed evaluate.
// Source: see CostModel, `generate_schedule_sequence`.
std::vector<std::string> schedule(const Graph& graph, const Assignment& assignment,
                                  CostModel model);

}  // namespace shardwright::operators::autoshard
