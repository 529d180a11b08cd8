// Collectives among GPUs with NVSwitch from Hopper on, from what was measured.
#pragma once

#include <cstdint>
#include <optional>

#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"

namespace shardwright::redistribution::nccl {

// The collectives are those that NCCL tunes, and group.has_nvls().

// On one node.
double one_node_us(const Group& group, Collective collective, std::int64_t bytes);

// On several nodes. None if no table has this number of nodes and of ranks per node.
std::optional<double> several_nodes_us(const Group& group, Collective collective,
                                       std::int64_t bytes);

}  // namespace shardwright::redistribution::nccl
