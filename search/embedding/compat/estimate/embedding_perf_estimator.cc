#include "search/embedding/compat/estimate/embedding_perf_estimator.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "search/embedding/compat/estimate/embedding_storage_estimator.h"

namespace shardwright::embedding {
namespace {

// Empirical factors. Source: torchrec/distributed/planner/constants.py.
constexpr double kBatchedCopyPerfFactor = 2.455;
constexpr std::int64_t kFullBlockDim = 128;
constexpr double kHalfBlockPenalty = 1.15;
constexpr double kQuarterBlockPenalty = 1.75;
constexpr double kWeightedKernelMultiplier = 1.1;
constexpr double kDpElementwiseKernelsPerfFactor = 9.22;

// The estimate of one shard; the members are TorchRec's local variables. Each function evaluates
// products and sums strictly left to right, because compat mode promises the same bits.
class ShardPerf {
 public:
  ShardPerf(const EstimateInputs& in, double bandwidth, std::int64_t columns)
      : in_(in),
        topology_(in.problem->topology()),
        bandwidth_(bandwidth),
        world_(topology_.world_size()),
        local_(topology_.local_world_size()),
        columns_(columns),
        dim_(static_cast<double>(columns)),
        element_(in.table_data_type_size) {}

  Perf table_wise() const;
  Perf row_wise() const;
  Perf table_row_wise() const;
  Perf data_parallel(std::int64_t rows) const;

 private:
  // Bytes of indices (and weights) read, a whole number.
  double input_read_size(double lookups) const {
    return std::ceil(lookups * kInputDataTypeSize) * (in_.is_weighted ? 2 : 1);
  }
  double backward_compute(double forward) const {
    double backward = forward * topology_.spec().bwd_compute_multiplier;
    if (in_.is_weighted) {
      backward = backward * topology_.spec().weighted_feature_bwd_compute_multiplier;
    }
    return backward + (in_.is_weighted ? forward * kWeightedKernelMultiplier : 0);
  }
  double prefetch(double fetches) const {
    return fetches * dim_ * element_ / topology_.spec().hbm_to_ddr_mem_bw;
  }
  // Between all ranks; the slowest link decides.
  double global_bandwidth() const {
    return world_ <= local_ ? topology_.spec().intra_host_bw : topology_.spec().inter_host_bw;
  }

  const EstimateInputs& in_;
  const Topology& topology_;
  double bandwidth_;
  double world_;
  double local_;
  std::int64_t columns_;
  double dim_;
  double element_;
};

Perf make(double fwd_compute, double fwd_comms, double bwd_compute, double bwd_comms,
          double prefetch) {
  return {Milliseconds(fwd_compute), Milliseconds(fwd_comms), Milliseconds(bwd_compute),
          Milliseconds(bwd_comms), Milliseconds(prefetch)};
}

Perf ShardPerf::table_wise() const {
  const double inputs = in_.batch.inputs;
  const double outputs = in_.batch.outputs;
  const double input_read = input_read_size(inputs * world_);
  // Kernels read at least 32 columns.
  const double lookup = inputs * world_ * std::max(dim_, 32.0) * element_;
  const double fwd_output = outputs * world_ * dim_ * in_.fwd_a2a_data_type_size;
  const double bwd_output = outputs * world_ * dim_ * in_.bwd_a2a_data_type_size;
  double penalty = 1;
  if (columns_ < kFullBlockDim) penalty = columns_ >= 64 ? kHalfBlockPenalty : kQuarterBlockPenalty;

  const double fwd_comms = fwd_output / global_bandwidth();
  const double fwd_compute = (input_read + lookup + fwd_output) * penalty / bandwidth_;
  if (in_.problem->spec().perf_estimator.is_inference) return make(fwd_compute, fwd_comms, 0, 0, 0);
  return make(fwd_compute, fwd_comms, backward_compute(fwd_compute),
              bwd_output / global_bandwidth(), prefetch(in_.expected_cache_fetches));
}

Perf ShardPerf::row_wise() const {
  const double inputs = in_.batch.inputs / world_;
  const double outputs = in_.is_pooled ? in_.batch.outputs : inputs;
  const double input_read = input_read_size(inputs * world_);
  const double lookup = inputs * world_ * dim_ * element_;
  const double fwd_width = in_.is_pooled ? in_.fwd_sr_data_type_size : in_.fwd_a2a_data_type_size;
  const double bwd_width = in_.is_pooled ? in_.bwd_sr_data_type_size : in_.bwd_a2a_data_type_size;
  const double fwd_output = outputs * world_ * dim_ * fwd_width;
  const double bwd_output = outputs * world_ * dim_ * bwd_width;

  const double fwd_comms = fwd_output / global_bandwidth();
  const double fwd_compute = (input_read + lookup + fwd_output) / bandwidth_;
  if (in_.problem->spec().perf_estimator.is_inference) return make(fwd_compute, fwd_comms, 0, 0, 0);
  const double bwd_comms = bwd_output / global_bandwidth();
  const double bwd_batched_copy = bwd_output * kBatchedCopyPerfFactor / bandwidth_;
  return make(fwd_compute, fwd_comms, backward_compute(fwd_compute), bwd_comms + bwd_batched_copy,
              prefetch(in_.expected_cache_fetches / world_));
}

Perf ShardPerf::table_row_wise() const {
  const TopologySpec& spec = topology_.spec();
  const double inputs = in_.batch.inputs / local_;
  const double outputs = in_.is_pooled ? in_.batch.outputs : inputs;
  const double input_read = input_read_size(inputs * world_);
  const double lookup = inputs * world_ * dim_ * element_;
  const double fwd_output = outputs * world_ * dim_ * in_.fwd_sr_data_type_size;
  const double bwd_output = outputs * world_ * dim_ * in_.bwd_sr_data_type_size;
  const double hosts = world_ / local_;

  double fwd_comms = fwd_output / spec.intra_host_bw;
  if (world_ > local_) {
    fwd_comms += outputs * hosts * dim_ * in_.fwd_a2a_data_type_size / spec.inter_host_bw;
  }
  const double fwd_compute = (input_read + lookup + fwd_output) / bandwidth_;
  double bwd_comms = bwd_output / spec.intra_host_bw;
  if (world_ > local_) {
    bwd_comms += outputs * hosts * dim_ * in_.bwd_a2a_data_type_size / spec.inter_host_bw;
  }
  const double bwd_batched_copy = bwd_output * kBatchedCopyPerfFactor / bandwidth_;
  return make(fwd_compute, fwd_comms, backward_compute(fwd_compute), bwd_comms + bwd_batched_copy,
              prefetch(in_.expected_cache_fetches / local_));
}

Perf ShardPerf::data_parallel(std::int64_t rows) const {
  const double inputs = in_.batch.inputs;
  const double outputs = in_.batch.outputs;
  const double input_read = input_read_size(inputs);
  const double lookup = inputs * dim_ * element_;
  const double output = outputs * dim_ * element_;
  // Table sizes are below 2^54 bytes, so that three times the size is exact in a long double and
  // the quotient by the (whole) number of nodes is rounded once, as Python divides integers.
  const long double table_size = static_cast<long double>(rows) *
                                 static_cast<long double>(columns_) *
                                 static_cast<long double>(in_.table_data_type_size);
  const double fwd_compute = (input_read + lookup + output) / bandwidth_;

  // Ring all-reduce over at most two nodes' worth of traffic, one NIC per rank. It takes in all
  // sharding groups.
  const auto world = static_cast<double>(topology_.spec().world_size);
  const auto local = static_cast<double>(topology_.linked_ranks());
  const double nodes = std::min(world / local, 2.0);
  const long double traffic = table_size * static_cast<long double>(2 * nodes - 1);
  const double comms_bw = topology_.spec().inter_host_bw * local;
  double all_reduce = static_cast<double>(traffic / static_cast<long double>(nodes)) / comms_bw;
  if (world > 2 * local) all_reduce *= 2;

  const double optimizer_kernels =
      static_cast<double>(table_size) * kDpElementwiseKernelsPerfFactor / bandwidth_;
  return make(fwd_compute, 0, backward_compute(fwd_compute), all_reduce + optimizer_kernels, 0);
}

}  // namespace

std::optional<double> kernel_bandwidth(const EstimateInputs& in) {
  const TopologySpec& spec = in.problem->topology().spec();
  const double ratio = in.caching_ratio.value_or(kDefaultCachingRatio);
  const bool cuda = spec.compute_device == ComputeDevice::kCuda;
  const double memory =
      spec.compute_device == ComputeDevice::kCpu ? spec.ddr_mem_bw : spec.hbm_mem_bw;
  const double cached = (ratio * spec.hbm_mem_bw + (1 - ratio) * spec.hbm_to_ddr_mem_bw) / 10;
  switch (in.compute_kernel) {
    case ComputeKernel::kDense:
      return 0.5 * memory;
    case ComputeKernel::kFused:
    case ComputeKernel::kQuant:
      return memory;
    case ComputeKernel::kFusedUvm:
    case ComputeKernel::kQuantUvm:
      if (cuda) return spec.hbm_to_ddr_mem_bw / 10;
      break;
    case ComputeKernel::kFusedUvmCaching:
      if (cuda) return in.prefetch_pipeline ? spec.hbm_mem_bw : cached;
      break;
    case ComputeKernel::kQuantUvmCaching:
      if (cuda) return cached;
      break;
    case ComputeKernel::kKeyValue:
      if (cuda) return spec.counts_ssd() ? spec.ssd_mem_bw : spec.hbm_to_ddr_mem_bw;
      break;
    case ComputeKernel::kSsdVirtualTable:
    case ComputeKernel::kDramVirtualTable:
      if (cuda) return spec.hbm_to_ddr_mem_bw;
      break;
    case ComputeKernel::kCustomizedKernel:
      break;
  }
  return std::nullopt;
}

Milliseconds estimate_sync(const EstimateInputs& in, const ShardExtent& extent) {
  const Topology& topology = in.problem->topology();
  // Data parallel tables are averaged over all ranks at every step.
  if (topology.num_replicas() == 1 || in.sharding_type == ShardingType::kDataParallel) return {};
  const TopologySpec& spec = topology.spec();
  double memory = spec.hbm_to_ddr_mem_bw;
  if (in.compute_kernel == ComputeKernel::kFused || in.compute_kernel == ComputeKernel::kDense)
    memory = spec.hbm_mem_bw;
  if (in.compute_kernel == ComputeKernel::kKeyValue && topology.counts_ssd())
    memory = spec.ssd_mem_bw;
  return Milliseconds(synced_bytes(in, extent) * topology.sync_ms_per_byte(memory));
}

Perf estimate_perf(const EstimateInputs& in, double bandwidth, std::int64_t rows,
                   std::int64_t columns) {
  const ShardPerf shard(in, bandwidth, columns);
  switch (in.sharding_type) {
    case ShardingType::kTableWise:
    case ShardingType::kColumnWise:
    case ShardingType::kTableColumnWise:
      return shard.table_wise();
    case ShardingType::kRowWise:
      return shard.row_wise();
    case ShardingType::kTableRowWise:
    case ShardingType::kGridShard:
      return shard.table_row_wise();
    case ShardingType::kDataParallel:
      return shard.data_parallel(rows);
  }
  return {};
}

}  // namespace shardwright::embedding
