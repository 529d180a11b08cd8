// TorchRec's EmbeddingPerfEstimator: the wall time of one shard per training step.
#pragma once

#include <optional>

#include "core/embedding/problem/storage.h"
#include "search/embedding/compat/estimate/inputs.h"

namespace shardwright::embedding {

// Bytes per millisecond at which a kernel reads embeddings on the problem's device, by the
// hardware's configuration or else the topology, or nothing if TorchRec knows no such combination.
// Source: kernel_bw_lookup, torchrec/distributed/planner/constants.py.
std::optional<double> kernel_bandwidth(const EstimateInputs& in);

// Time of a shard of `rows` x `columns`.
// Floating-point operations are in the order of the source.
// Source: EmbeddingPerfEstimator.perf_func_emb_wall_time, torchrec/distributed/planner/
// shard_estimators.py at commit a48cef79; the evaluators of torchrec/distributed/planner/estimator/
// estimator.py of TorchRec 1.9.2.
Perf estimate_perf(const EstimateInputs& in, double bandwidth, std::int64_t rows,
                   std::int64_t columns);

// Time of sending a shard its indices, which is not part of estimate_perf().
// Source: _default_input_dist_comms, torchrec/distributed/planner/estimator/estimator.py of
// TorchRec 1.9.2.
Milliseconds estimate_input_dist(const EstimateInputs& in);

// Time per step of averaging a shard over its replicas in other sharding groups; 0 without them.
// Tables that do not lie in HBM pass the link between host and device, or that of SSD.
Milliseconds estimate_sync(const EstimateInputs& in, const ShardExtent& extent);

}  // namespace shardwright::embedding
