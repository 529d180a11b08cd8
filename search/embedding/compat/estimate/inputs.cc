#include "search/embedding/compat/estimate/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

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

// What a table with a cache and statistics fetches in a step.
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

// Edges of `steps` equal bins of [0, end] in single precision, computed as torch.linspace does: from
// the left in the first half, from the right in the second.
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

}  // namespace shardwright::embedding
