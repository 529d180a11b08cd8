// What differs between the releases of TorchRec whose planner compat mode reproduces.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/container/static_vector.hpp>

#include "core/embedding/problem/kinds.h"

namespace shardwright::embedding {

using ShardingTypes = boost::container::static_vector<ShardingType, 8>;
using ComputeKernels = boost::container::static_vector<ComputeKernel, 12>;

// The order of the sharding types and kernels that a constraint names.
enum class ConstrainedOrder : std::uint8_t { kOfConstraint, kOfSharder };

// The number of embeddings of a feature that leave a pooled table per sample and pooling.
enum class PooledOutputs : std::uint8_t {
  kOne,
  kAtMostOnePerLookup,  // min(1, pooling factor)
};

// The parts of a training step that the time of inference counts.
enum class InferenceTime : std::uint8_t {
  kForwardOfSomeTypes,  // forward; for table_row_wise, grid_shard and data_parallel as in training
  kForwardAndPrefetch,
};

// The links between the hosts of a pod.
enum class PodLinks : std::uint8_t {
  kLikeOneHost,   // a pod stands for a host everywhere
  kBetweenHosts,  // host-wise options fill pods; links and the order of equal ranks follow hosts
};

// The rules of one release as data. Code reads single rules and never compares releases.
// Thread safety: a value.
struct ReleaseRules {
  // What a sharder offers, in the order in which it declares it.
  ShardingTypes (*sharding_types)(SharderKind sharder, ComputeDevice device) = nullptr;
  ComputeKernels (*compute_kernels)(SharderKind sharder, ShardingType type,
                                    ComputeDevice device) = nullptr;
  // Returns true if the type or kernel is used only where a constraint names it.
  bool (*guards_type)(SharderKind sharder, ShardingType type) = nullptr;
  bool (*guards_kernel)(ComputeKernel kernel) = nullptr;
  ConstrainedOrder constrained_order = ConstrainedOrder::kOfConstraint;
  bool rows_need_a_bucket_per_rank = false;  // row_wise refuses fewer buckets than ranks

  bool has_tpu = false;
  bool no_memory_is_default = true;        // an hbm_cap or ddr_cap of 0 stands for the default
  bool has_absolute_reservations = false;  // fixed_absolute and sku_aware
  bool has_uneven_hosts = false;           // hosts or pods may leave ranks over
  // SSD of a rank if the topology states none; nothing = only SSD that the topology states counts.
  std::optional<std::int64_t> ssd_cap_bytes;

  PooledOutputs pooled_outputs = PooledOutputs::kOne;
  InferenceTime inference_time = InferenceTime::kForwardOfSomeTypes;
  PodLinks pod_links = PodLinks::kLikeOneHost;
  bool estimates_input_dist = false;
  bool has_hardware_configs = false;  // the estimator takes coefficients of hardware

  // No rank takes two column shards of a table of kernel key_value that is sharded column_wise.
  bool spreads_key_value_columns = false;
  bool validates_plans = false;  // after the search: modules, kernels
};

// The rules of a release. O(1), does not allocate; the reference stays valid.
const ReleaseRules& rules_of(TorchRecRelease release);

// Source: sharding_types of BaseEmbeddingSharder and BaseQuantEmbeddingSharder
// (embedding_types.py), EmbeddingCollectionSharder (embedding.py),
// FeatureProcessedEmbeddingBagCollectionSharder (fp_embeddingbag.py) and EmbeddingTowerSharder
// (embedding_tower_sharding.py), torchrec/distributed.
ShardingTypes base_sharding_types(SharderKind sharder, ComputeDevice device);

// Source: compute_kernels of BaseEmbeddingSharder and BaseQuantEmbeddingSharder,
// torchrec/distributed/embedding_types.py.
ComputeKernels base_compute_kernels(SharderKind sharder, ShardingType type, ComputeDevice device);

// Source: _filter_sharding_types and GUARDED_COMPUTE_KERNELS,
// torchrec/distributed/planner/enumerators.py.
bool base_guards_type(SharderKind sharder, ShardingType type);
bool base_guards_kernel(ComputeKernel kernel);

ReleaseRules rules_of_a48cef79();
ReleaseRules rules_of_1_9_2();

}  // namespace shardwright::embedding
