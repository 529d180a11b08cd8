// Differences between the TorchRec releases whose planner compat mode reproduces.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/container/static_vector.hpp>

#include "core/embedding/problem/kinds.h"

namespace shardwright::embedding {

using ShardingTypes = boost::container::static_vector<ShardingType, 8>;
using ComputeKernels = boost::container::static_vector<ComputeKernel, 12>;

// The order of types and kernels that a constraint names: the constraint's or the sharder's.
enum class ConstrainedOrder : std::uint8_t { kOfConstraint, kOfSharder };

// Embeddings per sample and pooling that one feature of a pooled table outputs.
enum class PooledOutputs : std::uint8_t {
  kOne,
  kAtMostOnePerLookup,  // min(1, pooling factor)
};

// The parts of a training step that count as the time of inference.
enum class InferenceTime : std::uint8_t {
  kForwardOfSomeTypes,  // forward; for table_row_wise, grid_shard and data_parallel as in training
  kForwardAndPrefetch,
};

// How the links between the hosts of a pod are modelled.
enum class PodLinks : std::uint8_t {
  kLikeOneHost,   // every rule treats a pod as one host
  kBetweenHosts,  // host-wise options fill pods; links and tie-breaking among ranks follow hosts
};

// The rules of one release as data. Code reads single rules and never compares releases.
// Thread safety: a value.
struct ReleaseRules {
  // Returns the types or kernels that a sharder offers, in the order in which it declares them.
  ShardingTypes (*sharding_types)(SharderKind sharder, ComputeDevice device) = nullptr;
  ComputeKernels (*compute_kernels)(SharderKind sharder, ShardingType type,
                                    ComputeDevice device) = nullptr;
  // Returns true if the type or kernel is used only if a constraint names it.
  bool (*guards_type)(SharderKind sharder, ShardingType type) = nullptr;
  bool (*guards_kernel)(ComputeKernel kernel) = nullptr;
  ConstrainedOrder constrained_order = ConstrainedOrder::kOfConstraint;
  bool rows_need_a_bucket_per_rank = false;  // no row_wise with fewer buckets than ranks

  bool has_tpu = false;
  bool no_memory_is_default = true;        // an hbm_cap or ddr_cap of 0 means the default
  bool has_absolute_reservations = false;  // fixed_absolute and sku_aware
  bool has_uneven_hosts = false;           // some ranks may be on no host or pod
  // The SSD of a rank if the topology states none. If absent, only SSD in the topology counts.
  std::optional<std::int64_t> ssd_cap_bytes;

  PooledOutputs pooled_outputs = PooledOutputs::kOne;
  InferenceTime inference_time = InferenceTime::kForwardOfSomeTypes;
  PodLinks pod_links = PodLinks::kLikeOneHost;
  bool estimates_input_dist = false;
  bool has_hardware_configs = false;  // the estimator takes HardwarePerfConfig

  // If true, column_wise shards of a table with kernel key_value go to different ranks.
  bool spreads_key_value_columns = false;
  bool validates_plans = false;  // checks modules and kernels after the search
};

// Returns the rules of a release. O(1), does not allocate. The reference is valid forever.
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
