// An all-to-all in NCCL, which sends between every two ranks and tunes nothing.
#pragma once

#include <cstdint>

#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"

namespace shardwright::redistribution::nccl {

// Source: AutoParallel, autoparallel/cost_models/nccl_cost_model.py, nccl_all_to_all_cost.
double all_to_all_us(const Group& group, std::int64_t bytes);

}  // namespace shardwright::redistribution::nccl
