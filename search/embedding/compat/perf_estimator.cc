#include "search/embedding/compat/perf_estimator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/embedding/problem/machine_model.h"
#include "search/embedding/compat/measured_costs.h"
#include "search/embedding/compat/storage_estimator.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

BatchSizes batch_sizes(const Problem& problem, const Table& table, bool is_pooled) {
  static constexpr double kOneInput[] = {1.0};
  const bool scaled = problem.release().pooled_outputs == PooledOutputs::kAtMostOnePerLookup;
  const ParameterConstraints* c = table.constraints ? &*table.constraints : nullptr;
  const std::size_t features = c != nullptr ? c->pooling_factors.size() : 1;
  const double* pooling = c != nullptr ? c->pooling_factors.data() : kOneInput;
  BatchSizes batch;
  for (std::size_t i = 0; i < features; ++i) {
    const double poolings = c != nullptr && !c->num_poolings.empty() ? c->num_poolings[i] : 1.0;
    const double samples = static_cast<double>(
        c != nullptr && !c->batch_sizes.empty() ? c->batch_sizes[i] : problem.batch_size());
    batch.inputs += pooling[i] * poolings * samples;
    batch.bags += poolings * samples;
    batch.outputs += (scaled ? std::min(1.0, pooling[i]) : 1.0) * poolings * samples;
  }
  if (!is_pooled) batch.outputs = batch.inputs;
  return batch;
}

double width(const std::optional<DataType>& type, double otherwise) {
  return type ? bits(*type) / 8.0 : otherwise;
}

// Source: _extract_comm_data_type_size, torchrec/distributed/planner/shard_estimators.py.
void set_comm_widths(EstimateInputs& in, const SharderSpec& sharder) {
  const double element = in.table_data_type_size;
  const CommCodec& a2a = in.is_pooled ? sharder.pooled_all_to_all : sharder.sequence_all_to_all;
  in.fwd_a2a_data_type_size = width(a2a.forward, element);
  in.bwd_a2a_data_type_size = width(a2a.backward, element);
  const CommCodec none;
  const CommCodec& sr = in.is_pooled ? sharder.pooled_reduce_scatter : none;
  in.fwd_sr_data_type_size = width(sr.forward, element);
  in.bwd_sr_data_type_size = width(sr.backward, element);
}

// Sets what a table with a cache and statistics fetches per step.
void set_cache_fetches(EstimateInputs& in, const CacheStatistics& stats) {
  const PerfEstimatorSpec& estimator = in.problem->spec().perf_estimator;
  const double lookups = std::ceil(in.problem->topology().world_size() * in.batch.inputs);
  double unique = stats.expected_lookups;
  if (estimator.use_linear_regression_prefetch_estimate) {
    unique = std::min({unique, lookups, in.rows});
    in.expected_unique_lookups = unique;
  }
  in.expected_cache_fetches =
      expected_miss_rate(stats, *in.caching_ratio) *
      (estimator.use_batch_inputs_for_expected_cache_fetches ? lookups : unique);
}

// Edges of `steps` equal bins of [0, end] in single precision, computed as torch.linspace does:
// from the left in the first half, from the right in the second.
std::vector<float> bin_edges(float end, std::size_t steps) {
  std::vector<float> edges(steps);
  const float step = end / static_cast<float>(steps - 1);
  for (std::size_t i = 0; i < steps; ++i) {
    edges[i] = i < steps / 2 ? step * static_cast<float>(i)
                             : end - step * static_cast<float>(steps - i - 1);
  }
  return edges;
}

}  // namespace

EstimateInputs estimate_inputs(const Problem& problem, const ShardingOption& option) {
  const Table& table = problem.table(option.table);
  const SharderSpec& sharder = problem.spec().sharder;
  const TensorShape shape = tensor_shape(table, sharder.type);
  const ParameterConstraints* c = table.constraints ? &*table.constraints : nullptr;
  const CacheParams* cache = c != nullptr && c->cache_params ? &*c->cache_params : nullptr;

  EstimateInputs in;
  in.problem = &problem;
  in.table = &table;
  in.sharding_type = option.sharding_type;
  in.compute_kernel = option.compute_kernel;
  in.is_pooled = table.kind == TableKind::kPooled;
  in.is_weighted = table.module_has_weights() ? table.weighted : c != nullptr && c->is_weighted;
  in.batch = batch_sizes(problem, table, in.is_pooled);
  in.rows = static_cast<double>(shape.rows);
  in.columns = static_cast<double>(shape.columns);
  in.tensor_bytes = shape.size_bytes;
  in.table_data_type_size = shape.element_size_bytes;
  in.output_data_type_size =
      width(c != nullptr ? c->output_dtype : std::nullopt, shape.element_size_bytes);
  set_comm_widths(in, sharder);
  in.caching_ratio = option.load_factor ? option.load_factor : sharder.cache_load_factor;
  in.prefetch_pipeline = cache != nullptr && cache->prefetch_pipeline.value_or(false);
  if (!in.prefetch_pipeline) in.prefetch_pipeline = sharder.prefetch_pipeline.value_or(false);
  if (in.caching_ratio && cache != nullptr && cache->stats &&
      option.compute_kernel == ComputeKernel::kFusedUvmCaching) {
    set_cache_fetches(in, *cache->stats);
  }
  const std::optional<HardwarePerfConfig>& config = problem.spec().perf_estimator.config;
  in.hardware = config ? &*config : nullptr;
  return in;
}

double expected_miss_rate(const CacheStatistics& stats, double load_factor) {
  const std::size_t bins = stats.mrc_hist_counts.size();
  std::vector<float> hits(bins);
  double sum = 0;  // torch.cumsum accumulates in double and stores single
  for (std::size_t i = 0; i < bins; ++i) {
    sum += static_cast<double>(static_cast<float>(stats.mrc_hist_counts[i]));
    hits[i] = static_cast<float>(sum);
  }
  if (hits.back() == 0) return 0;
  const std::vector<float> edges = bin_edges(static_cast<float>(stats.height), bins + 1);
  const float rows = static_cast<float>(load_factor * static_cast<double>(stats.height)) - 1.0F;
  // A cache of k rows hits stack distances up to k - 1.
  const auto above = std::upper_bound(edges.begin(), edges.end(), rows) - edges.begin();
  if (above == 0) return 1;
  const auto bin = static_cast<std::size_t>(above - 1);
  return bin < bins ? static_cast<double>(1.0F - hits[bin] / hits.back()) : 0;
}

namespace {

// Empirical factors. Source: torchrec/distributed/planner/constants.py.
constexpr double kBatchedCopyPerfFactor = 2.455;
constexpr std::int64_t kFullBlockDim = 128;
constexpr double kHalfBlockPenalty = 1.15;
constexpr double kQuarterBlockPenalty = 1.75;
constexpr double kWeightedKernelMultiplier = 1.1;
constexpr double kDpElementwiseKernelsPerfFactor = 9.22;
constexpr double kMinLookupDim = 32;  // kernels read at least this many columns

// Number of consecutive ranks that share the fast links.
std::int64_t linked_ranks(const Problem& problem) {
  return problem.release().pod_links == PodLinks::kBetweenHosts
             ? problem.topology().spec().local_world_size
             : problem.topology().linked_ranks();
}

// The bytes that a pass over a shard moves.
struct Moved {
  double input_read = 0;
  double lookup = 0;
  double output = 0;
};

// The estimate of one shard. Members are TorchRec's local variables. Products and sums are
// evaluated strictly left to right, because compat mode promises equal bits.
class ShardPerf {
 public:
  ShardPerf(const EstimateInputs& in, double bandwidth, std::int64_t rows, std::int64_t columns)
      : in_(in),
        topology_(in.problem->topology()),
        hardware_(in.hardware),
        bandwidth_(bandwidth),
        world_(topology_.world_size()),
        group_(topology_.local_world_size()),
        linked_(in.problem->release().pod_links == PodLinks::kBetweenHosts
                    ? topology_.ranks_per_physical_host()
                    : topology_.local_world_size()),
        rows_(rows),
        columns_(columns),
        dim_(static_cast<double>(columns)),
        element_(in.table_data_type_size) {}

  Perf table_wise() const;
  Perf row_wise() const;
  Perf table_row_wise() const;
  Perf data_parallel() const;
  // TorchRec counts the indices of the whole table for every shard.
  double input_dist() const {
    return std::ceil(in_.batch.inputs * world_ * index_bytes()) / global_bandwidth();
  }

 private:
  double index_bytes() const {
    return hardware_ == nullptr ? kInputDataTypeSize : hardware_->input_data_type_size;
  }
  double weights() const { return in_.is_weighted ? 2 : 1; }
  // Bytes of indices (and weights) read, a whole number.
  double input_read_size(double lookups) const {
    return std::ceil(lookups * index_bytes()) * weights();
  }
  double size(const PerfCoefficients& c, const Moved& moved) const {
    return c.input_read_size * moved.input_read + c.lookup_size * moved.lookup +
           c.embedding_output * moved.output + c.hash_size * static_cast<double>(rows_);
  }
  // Adapts the bytes of table- and column-wise types to the hardware's configuration, if any.
  Moved with_columns_as_configured(Moved moved) const {
    if (hardware_ == nullptr) return moved;
    const double inputs = in_.batch.inputs;
    if (!hardware_->use_bytes_for_input_read_size)
      moved.input_read = std::ceil(inputs * world_) * weights();
    if (!hardware_->use_min_dim_for_lookup.value_or(true))
      moved.lookup = inputs * world_ * dim_ * element_;
    return moved;
  }
  PassCoefficients coefficients() const {
    return hardware_->coefficients(in_.sharding_type, in_.compute_kernel);
  }
  // `by_columns`: the type reads whole columns, which is slow for narrow columns.
  double forward_compute(const Moved& moved, bool by_columns) const {
    const bool penalised =
        hardware_ == nullptr ? by_columns : hardware_->use_block_usage_penalty.value_or(by_columns);
    double penalty = 1;
    if (penalised && columns_ < kFullBlockDim)
      penalty = columns_ >= 64 ? kHalfBlockPenalty : kQuarterBlockPenalty;
    const double bytes = hardware_ == nullptr ? moved.input_read + moved.lookup + moved.output
                                              : size(coefficients().fwd, moved);
    return bytes * penalty / bandwidth_;
  }
  double backward_compute(double forward, const Moved& moved) const {
    if (hardware_ != nullptr) return backward_compute_on(*hardware_, forward, moved);
    double backward = forward * topology_.spec().bwd_compute_multiplier;
    if (in_.is_weighted)
      backward = backward * topology_.spec().weighted_feature_bwd_compute_multiplier;
    return backward + (in_.is_weighted ? forward * kWeightedKernelMultiplier : 0);
  }
  double backward_compute_on(const HardwarePerfConfig& hardware, double forward,
                             const Moved& moved) const {
    const TopologySpec& spec = topology_.spec();
    const std::optional<PerfCoefficients> own = coefficients().bwd;
    double backward =
        own ? size(*own, moved) / bandwidth_
            : forward * hardware.bwd_compute_multiplier.value_or(spec.bwd_compute_multiplier);
    if (in_.is_weighted) {
      backward = backward * hardware.weighted_feature_bwd_compute_multiplier.value_or(
                                spec.weighted_feature_bwd_compute_multiplier);
    }
    return backward + (in_.is_weighted ? forward * hardware.weighted_kernel_multiplier : 0);
  }
  // `ranks`: the number of ranks that share the fetches. `lookups`: before rounding up.
  double prefetch(double ranks, double lookups) const {
    const double fetches = in_.expected_cache_fetches / ranks;
    if (hardware_ == nullptr) return fetches * dim_ * element_ / topology_.spec().hbm_to_ddr_mem_bw;
    if (in_.expected_unique_lookups) {
      const PrefetchCoefficients& c = *hardware_->prefetch;
      return c.expected_num_lookups * (std::ceil(lookups) * weights() / ranks) +
             c.expected_num_unique_lookups * (*in_.expected_unique_lookups / ranks) +
             c.expected_size_cache_fetches * (fetches * dim_);
    }
    return fetches * dim_ * element_ /
           hardware_->hbm_to_ddr_mem_bw.value_or(topology_.spec().hbm_to_ddr_mem_bw);
  }
  // The time of a collective over all ranks, over those of a host-wise option, and over hosts. One
  // more table makes a message longer, but no new one.
  double over_all(Collective operation, double bytes) const {
    return collective(operation, world_, world_ <= linked_, bytes, bytes / global_bandwidth());
  }
  double over_group(Collective operation, double bytes) const {
    return collective(operation, group_, group_ <= linked_, bytes, bytes / group_bandwidth());
  }
  double over_hosts(double hosts, double bytes) const {
    return collective(Collective::kAllToAll, hosts, false, bytes,
                      bytes / topology_.spec().inter_host_bw);
  }
  // `by_torchrec`: the time if the collective was not measured.
  double collective(Collective operation, double ranks, bool is_linked, double bytes,
                    double by_torchrec) const {
    const MachineModel* const machine = topology_.spec().machine.get();
    const MeasuredCollective* const measured =
        machine == nullptr
            ? nullptr
            : machine->find(operation, is_linked ? LinkScope::kIntraHost : LinkScope::kInterHost,
                            static_cast<std::int64_t>(ranks));
    constexpr double kUsPerMs = 1000;
    return measured == nullptr
               ? by_torchrec
               : bytes * measured->us_per_byte(std::max(bytes, in_.message_bytes)) / kUsPerMs;
  }
  // Bandwidth between all ranks: that of the slowest link.
  double global_bandwidth() const {
    return world_ <= linked_ ? topology_.spec().intra_host_bw : topology_.spec().inter_host_bw;
  }
  // Bandwidth between the ranks of a host-wise option.
  double group_bandwidth() const {
    return group_ <= linked_ ? topology_.spec().intra_host_bw : topology_.spec().inter_host_bw;
  }

  const EstimateInputs& in_;
  const Topology& topology_;
  const HardwarePerfConfig* hardware_;
  double bandwidth_;
  double world_;
  double group_;   // ranks over which host-wise options divide a table
  double linked_;  // ranks that share the fast links
  std::int64_t rows_;
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
  const double lookup = inputs * world_ * std::max(dim_, kMinLookupDim) * element_;
  const double fwd_output = outputs * world_ * dim_ * in_.fwd_a2a_data_type_size;
  const double bwd_output = outputs * world_ * dim_ * in_.bwd_a2a_data_type_size;

  const double fwd_comms = over_all(Collective::kAllToAll, fwd_output);
  const Moved forward = with_columns_as_configured({input_read, lookup, fwd_output});
  const double fwd_compute = forward_compute(forward, true);
  // Used only with a hardware configuration. Here the lookup has no least number of columns.
  const Moved backward{forward.input_read, inputs * world_ * dim_ * element_, bwd_output};
  return make(fwd_compute, fwd_comms, backward_compute(fwd_compute, backward),
              over_all(Collective::kAllToAll, bwd_output), prefetch(1, inputs * world_));
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

  // Without pooling, rows are sent back as they are.
  const double fwd_comms =
      over_all(in_.is_pooled ? Collective::kReduceScatter : Collective::kAllToAll, fwd_output);
  const double fwd_compute = forward_compute({input_read, lookup, fwd_output}, false);
  const double bwd_comms =
      over_all(in_.is_pooled ? Collective::kAllGather : Collective::kAllToAll, bwd_output);
  const double bwd_batched_copy = bwd_output * kBatchedCopyPerfFactor / bandwidth_;
  return make(fwd_compute, fwd_comms,
              backward_compute(fwd_compute, {input_read, lookup, bwd_output}),
              bwd_comms + bwd_batched_copy, prefetch(world_, in_.batch.inputs * index_bytes()));
}

Perf ShardPerf::table_row_wise() const {
  const double inputs = in_.batch.inputs / group_;
  const double outputs = in_.is_pooled ? in_.batch.outputs : inputs;
  const double input_read = input_read_size(inputs * world_);
  const double lookup = inputs * world_ * dim_ * element_;
  const double fwd_output = outputs * world_ * dim_ * in_.fwd_sr_data_type_size;
  const double bwd_output = outputs * world_ * dim_ * in_.bwd_sr_data_type_size;
  const double hosts = std::floor(world_ / group_);  // whole hosts, although all ranks count above

  double fwd_comms = over_group(Collective::kReduceScatter, fwd_output);
  if (hosts > 1)
    fwd_comms += over_hosts(hosts, outputs * hosts * dim_ * in_.fwd_a2a_data_type_size);
  const double fwd_compute = forward_compute({input_read, lookup, fwd_output}, false);
  double bwd_comms = over_group(Collective::kAllGather, bwd_output);
  if (hosts > 1)
    bwd_comms += over_hosts(hosts, outputs * hosts * dim_ * in_.bwd_a2a_data_type_size);
  const double bwd_batched_copy = bwd_output * kBatchedCopyPerfFactor / bandwidth_;
  return make(fwd_compute, fwd_comms,
              backward_compute(fwd_compute, {input_read, lookup, bwd_output}),
              bwd_comms + bwd_batched_copy, prefetch(group_, inputs * world_ * index_bytes()));
}

// The bytes that a ring all-reduce of the table moves. Table sizes are below 2^54 bytes, so that
// products are exact in a long double and the quotient by a whole number of nodes is rounded once,
// as in Python's division of integers. With fractional nodes, Python rounds every step.
double ring_traffic(long double table_size, double nodes) {
  if (nodes != std::floor(nodes)) return static_cast<double>(table_size) * (2 * nodes - 1) / nodes;
  return static_cast<double>(table_size * static_cast<long double>(2 * nodes - 1) /
                             static_cast<long double>(nodes));
}

Perf ShardPerf::data_parallel() const {
  const double inputs = in_.batch.inputs;
  const double outputs = in_.batch.outputs;
  const Moved moved{input_read_size(inputs), inputs * dim_ * element_, outputs * dim_ * element_};
  const long double table_size = static_cast<long double>(rows_) *
                                 static_cast<long double>(columns_) *
                                 static_cast<long double>(in_.table_data_type_size);
  const double fwd_compute = forward_compute(moved, false);

  // Ring all-reduce over all sharding groups: traffic of at most two nodes, one NIC per rank.
  const auto world = static_cast<double>(topology_.spec().world_size);
  const auto local = static_cast<double>(linked_ranks(*in_.problem));
  const double nodes = std::min(world / local, 2.0);
  const double comms_bw = topology_.spec().inter_host_bw * local;
  double all_reduce = ring_traffic(table_size, nodes) / comms_bw;
  if (world > 2 * local) all_reduce *= 2;
  all_reduce = collective(Collective::kAllReduce, world, world <= local,
                          static_cast<double>(table_size), all_reduce);

  const double optimizer_kernels =
      static_cast<double>(table_size) * kDpElementwiseKernelsPerfFactor / bandwidth_;
  return make(fwd_compute, 0, backward_compute(fwd_compute, moved), all_reduce + optimizer_kernels,
              0);
}

// The part of a training step's time that inference takes.
Perf in_inference(Perf perf, ShardingType type, InferenceTime counted) {
  const bool is_whole = type == ShardingType::kTableRowWise || type == ShardingType::kGridShard ||
                        type == ShardingType::kDataParallel;
  if (counted == InferenceTime::kForwardOfSomeTypes && is_whole) return perf;
  perf.bwd_compute = perf.bwd_comms = Milliseconds();
  if (counted == InferenceTime::kForwardOfSomeTypes) perf.prefetch_compute = Milliseconds();
  return perf;
}

Perf in_training(const ShardPerf& shard, ShardingType type) {
  switch (type) {
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
      return shard.data_parallel();
  }
  return {};
}

// The bandwidth from the hardware's configuration.
// Source: HardwarePerfConfig.get_device_bw, torchrec/distributed/planner/estimator/types.py of
// TorchRec 1.9.2.
std::optional<double> own_bandwidth(const EstimateInputs& in) {
  ComputeKernel kernel = in.compute_kernel;
  const bool on_cuda = in.problem->topology().compute_device() == ComputeDevice::kCuda;
  if (in.prefetch_pipeline && on_cuda && kernel == ComputeKernel::kFusedUvmCaching)
    kernel = ComputeKernel::kFused;
  for (const auto& [named, bandwidth] : in.hardware->kernel_device_bandwidths) {
    if (named == kernel) return bandwidth;
  }
  return in.hardware->device_bw;
}

}  // namespace

std::optional<double> kernel_bandwidth(const EstimateInputs& in) {
  if (in.hardware != nullptr) {
    if (const std::optional<double> own = own_bandwidth(in)) return own;
  }
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
    case ComputeKernel::kFusedTriton:
      if (cuda) return memory;
      break;
    case ComputeKernel::kUnfusedTpu:
      if (spec.compute_device == ComputeDevice::kTpu) return memory;
      break;
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
    case ComputeKernel::kDramSsdVirtualTable:
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
  return Milliseconds(synced_bytes(in, extent) *
                      topology.sync_ms_per_byte(memory, linked_ranks(*in.problem)));
}

Milliseconds estimate_input_dist(const EstimateInputs& in) {
  const bool estimated = in.problem->release().estimates_input_dist;
  if (!estimated || in.sharding_type == ShardingType::kDataParallel) return {};
  return Milliseconds(ShardPerf(in, 1, 1, 1).input_dist());
}

Perf estimate_perf(const EstimateInputs& in, double bandwidth, std::int64_t rows,
                   std::int64_t columns) {
  const Perf perf = with_measured_compute(
      in, in_training(ShardPerf(in, bandwidth, rows, columns), in.sharding_type), rows, columns);
  if (!in.problem->spec().perf_estimator.is_inference) return perf;
  return in_inference(perf, in.sharding_type, in.problem->release().inference_time);
}

}  // namespace shardwright::embedding
