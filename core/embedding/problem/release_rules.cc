#include "core/embedding/problem/release_rules.h"

#include <array>
#include <cstddef>

namespace shardwright::embedding {

const ReleaseRules& rules_of(TorchRecRelease release) {
  // In the order of TorchRecRelease.
  static const std::array kRules{rules_of_a48cef79(), rules_of_1_9_2()};
  static_assert(kRules.size() == EnumNames<TorchRecRelease>::kNames.size());
  return kRules[static_cast<std::size_t>(release)];
}

ShardingTypes base_sharding_types(SharderKind sharder, ComputeDevice device) {
  using enum ShardingType;
  const bool on_mtia = device == ComputeDevice::kMtia;
  switch (sharder) {
    case SharderKind::kQuant:
      return {kTableWise, kRowWise, kColumnWise};
    case SharderKind::kEmbedding:
      return {kDataParallel, kTableWise, kColumnWise, kRowWise};
    case SharderKind::kFeatureProcessed:
      if (on_mtia) return {kTableWise, kColumnWise};
      return {kDataParallel, kTableWise, kColumnWise, kTableColumnWise};
    case SharderKind::kTower:
      return {kTableRowWise, kTableColumnWise};
    case SharderKind::kEmbeddingBag:
      break;
  }
  if (on_mtia)
    return {kTableWise, kColumnWise, kTableColumnWise, kRowWise, kTableRowWise, kGridShard};
  if (device == ComputeDevice::kCpu)
    return {kDataParallel, kTableWise, kColumnWise, kTableColumnWise};
  return {kDataParallel, kTableWise,    kColumnWise, kTableColumnWise,
          kRowWise,      kTableRowWise, kGridShard};
}

ComputeKernels base_compute_kernels(SharderKind sharder, ShardingType type, ComputeDevice device) {
  using enum ComputeKernel;
  const bool on_cuda = device == ComputeDevice::kCuda;
  if (sharder == SharderKind::kQuant)
    return on_cuda ? ComputeKernels{kQuant, kQuantUvm, kQuantUvmCaching} : ComputeKernels{kQuant};
  if (type == ShardingType::kDataParallel) return {kDense};
  if (!on_cuda) return {kFused};
  return {kFused, kFusedUvm, kFusedUvmCaching, kKeyValue, kSsdVirtualTable, kDramVirtualTable};
}

bool base_guards_type(SharderKind, ShardingType type) { return type == ShardingType::kGridShard; }

bool base_guards_kernel(ComputeKernel kernel) {
  return kernel == ComputeKernel::kKeyValue || kernel == ComputeKernel::kSsdVirtualTable ||
         kernel == ComputeKernel::kDramVirtualTable;
}

namespace {

// Adds the row-wise types of feature processors. Source: sharding_types,
// torchrec/distributed/fp_embeddingbag.py and embedding_types.py.
ShardingTypes sharding_types_1_9_2(SharderKind sharder, ComputeDevice device) {
  ShardingTypes types = base_sharding_types(sharder, device);
  if (sharder == SharderKind::kFeatureProcessed && device != ComputeDevice::kMtia) {
    using enum ShardingType;
    for (const ShardingType type : {kTableRowWise, kRowWise, kGridShard})
      types.push_back(type);
  }
  return types;
}

// Source: compute_kernels of BaseEmbeddingSharder, torchrec/distributed/embedding_types.py. No
// sharder offers fused_triton.
ComputeKernels compute_kernels_1_9_2(SharderKind sharder, ShardingType type, ComputeDevice device) {
  ComputeKernels kernels = base_compute_kernels(sharder, type, device);
  if (sharder == SharderKind::kQuant || type == ShardingType::kDataParallel) return kernels;
  if (device == ComputeDevice::kCuda) kernels.push_back(ComputeKernel::kDramSsdVirtualTable);
  if (device == ComputeDevice::kTpu) kernels.push_back(ComputeKernel::kUnfusedTpu);
  return kernels;
}

// Source: GUARDED_SHARDING_TYPES_FOR_FP_MODULES, torchrec/distributed/planner/enumerators.py.
bool guards_type_1_9_2(SharderKind sharder, ShardingType type) {
  const bool of_rows = type == ShardingType::kRowWise || type == ShardingType::kTableRowWise;
  return base_guards_type(sharder, type) || (sharder == SharderKind::kFeatureProcessed && of_rows);
}

bool guards_kernel_1_9_2(ComputeKernel kernel) {
  return base_guards_kernel(kernel) || kernel == ComputeKernel::kDramSsdVirtualTable;
}

}  // namespace

ReleaseRules rules_of_1_9_2() {
  ReleaseRules rules;
  rules.sharding_types = sharding_types_1_9_2;
  rules.compute_kernels = compute_kernels_1_9_2;
  rules.guards_type = guards_type_1_9_2;
  rules.guards_kernel = guards_kernel_1_9_2;
  rules.constrained_order = ConstrainedOrder::kOfSharder;
  rules.rows_need_a_bucket_per_rank = true;
  rules.has_tpu = true;
  rules.no_memory_is_default = false;
  rules.has_absolute_reservations = true;
  rules.has_uneven_hosts = true;
  // Source: SSD_CAP, torchrec/distributed/planner/constants.py.
  rules.ssd_cap_bytes = std::int64_t{2} << 40;
  rules.pooled_outputs = PooledOutputs::kAtMostOnePerLookup;
  rules.inference_time = InferenceTime::kForwardAndPrefetch;
  rules.pod_links = PodLinks::kBetweenHosts;
  rules.estimates_input_dist = true;
  rules.has_hardware_configs = true;
  rules.spreads_key_value_columns = true;
  rules.validates_plans = true;
  return rules;
}

ReleaseRules rules_of_a48cef79() {
  ReleaseRules rules;
  rules.sharding_types = base_sharding_types;
  rules.compute_kernels = base_compute_kernels;
  rules.guards_type = base_guards_type;
  rules.guards_kernel = base_guards_kernel;
  return rules;
}

}  // namespace shardwright::embedding
