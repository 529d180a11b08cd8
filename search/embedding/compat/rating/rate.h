// The two rating models: what a placed proposal is worth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

// Time of the busiest rank: shard totals per rank in proposal order. `perf_by_rank` is scratch of
// one double per rank. Source: NoopPerfModel, torchrec/distributed/planner/perf_models.py.
double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank);

// HBM of the fullest rank in bytes, of a proposal just placed. Source: NoopStorageModel.
double rate_storage(std::span<const OptionId> proposal, const Placement& placement,
                    std::vector<std::int64_t>& hbm_by_rank);

}  // namespace shardwright::embedding
