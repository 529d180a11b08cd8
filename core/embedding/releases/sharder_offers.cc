#include "core/embedding/releases/sharder_offers.h"

namespace shardwright::embedding {

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

}  // namespace shardwright::embedding
