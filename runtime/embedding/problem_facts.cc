#include "runtime/embedding/problem_facts.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/load_factors.h"
#include "core/embedding/problem/machine_model.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright {
namespace {

using embedding::CacheParams;
using embedding::CommCodec;
using embedding::ComputeKernel;
using embedding::FactorByDim;
using embedding::GroupScope;
using embedding::KernelCalibration;
using embedding::kMemoryTiers;
using embedding::MemoryMargin;
using embedding::MemoryTier;
using embedding::ParameterConstraints;
using embedding::Problem;
using embedding::ProblemSpec;
using embedding::ShardingChoice;
using embedding::ShardingType;
using embedding::Storage;
using embedding::Table;
using embedding::TableGroup;
using embedding::TablePlacement;
using embedding::to_name;
using embedding::TopologySpec;

template <class Value>
std::vector<Value> sorted(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

template <class Enum>
std::string_view name_of(Enum value) {
  return to_name(value);
}

// Joins names by ',' and escapes commas within names.
std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    for (const char c : name) {
      if (c == ',' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text;
}

// Writes one number if all ranks have the same value, otherwise one number per rank.
template <class Values>
void write_by_rank(std::string_view key, const Values& values, FactWriter& out) {
  const bool uniform = std::all_of(values.begin(), values.end(),
                                   [&](const auto& value) { return value == values.front(); });
  uniform ? out.fact(key, values.front()) : out.list(key, values);
}

void write_groups(const embedding::ShardingGroupSpec& groups, FactWriter& out) {
  const embedding::ShardingGroupSpec usual;
  out.list("sharding_groups/size", groups.sizes)
      .unless(usual.sync_interval, "sharding_groups/sync_interval", groups.sync_interval)
      .unless(usual.include_optimizer_state, "sharding_groups/include_optimizer_state",
              groups.include_optimizer_state)
      .unless(usual.use_inter_host_allreduce, "sharding_groups/use_inter_host_allreduce",
              groups.use_inter_host_allreduce);
}

void write_topology(const Problem& problem, FactWriter& out) {
  const embedding::Topology& topology = problem.topology();
  const TopologySpec& spec = topology.spec();
  const TopologySpec usual;
  out.section("topology")
      .fact("world_size", spec.world_size)
      .fact("local_world_size", spec.local_world_size)
      .fact("compute_device", to_name(spec.compute_device));
  if (spec.groups) write_groups(*spec.groups, out);
  if (!spec.pod_sizes.empty()) out.list("pod_size", spec.pod_sizes);
  for (const MemoryTier tier : kMemoryTiers) {
    if (tier == MemoryTier::kSsd && !topology.counts_ssd()) continue;
    std::vector<std::int64_t> caps;
    for (const Storage& rank : topology.storage())
      caps.push_back(rank[tier].value());
    write_by_rank(std::string(to_name(tier)) + "_cap", caps, out);
  }
  // Row-wise sharding depends on whether sizes are given rank by rank, even if they are equal.
  if (!topology.device_memory_sizes().empty()) out.fact("custom", true);
  out.unless(usual.intra_host_bw, "intra_host_bw", spec.intra_host_bw)
      .unless(usual.inter_host_bw, "inter_host_bw", spec.inter_host_bw)
      .unless(usual.hbm_mem_bw, "hbm_mem_bw", spec.hbm_mem_bw)
      .unless(usual.ddr_mem_bw, "ddr_mem_bw", spec.ddr_mem_bw)
      .unless(usual.hbm_to_ddr_mem_bw, "hbm_to_ddr_mem_bw", spec.hbm_to_ddr_mem_bw)
      .unless(usual.ssd_mem_bw, "ssd_mem_bw",
              spec.counts_ssd() ? spec.ssd_mem_bw : usual.ssd_mem_bw)
      .unless(usual.bwd_compute_multiplier, "bwd_compute_multiplier", spec.bwd_compute_multiplier)
      .unless(usual.weighted_feature_bwd_compute_multiplier,
              "weighted_feature_bwd_compute_multiplier",
              spec.weighted_feature_bwd_compute_multiplier)
      .unless(usual.uneven_sharding_perf_multiplier, "uneven_sharding_perf_multiplier",
              spec.uneven_sharding_perf_multiplier);
  out.section("batch_size").fact("", problem.batch_size());
}

// Measured costs, and the skew of lookups, which they alone read.
void write_machine(const Problem& problem, FactWriter& out) {
  const embedding::MachineModel* const machine = problem.topology().spec().machine.get();
  if (machine == nullptr) return;
  out.section("machine").fact("costs", machine->spec().digest);
  if (problem.spec().zipf != 0) out.fact("zipf", problem.spec().zipf);
  std::vector<std::pair<std::string, double>> tables;
  for (const Table& table : problem.tables()) {
    if (table.zipf) tables.emplace_back(table.fqn(), *table.zipf);
  }
  for (const auto& [name, zipf] : sorted(std::move(tables)))
    out.owner(name).fact("zipf", zipf);
}

void write_table(const Table& table, FactWriter& out) {
  const Table usual;
  out.fact("num_embeddings", table.num_embeddings).fact("embedding_dim", table.embedding_dim);
  out.unless(to_name(usual.kind), "kind", to_name(table.kind))
      .unless(usual.weighted, "weighted", table.weighted)
      .unless(usual.feature_processed, "feature_processed", table.feature_processed)
      .unless(usual.tower, "tower", table.tower)
      .unless(to_name(usual.data_type), "data_type", to_name(table.data_type))
      .unless(to_name(usual.optimizer), "optimizer", to_name(table.optimizer))
      .unless(usual.dependency, "dependency", table.dependency)
      .unless(usual.use_virtual_table, "use_virtual_table", table.use_virtual_table);
  if (table.total_num_buckets) out.fact("total_num_buckets", *table.total_num_buckets);
}

// Writes the sharding types and kernels that constraints leave, if the sharder offers more.
void write_choices(const Problem& problem, const Table& table, FactWriter& out) {
  const ParameterConstraints& c = *table.constraints;
  if (c.sharding_types.empty() && c.compute_kernels.empty() && !c.device_group) return;
  const auto split = [&](const Table& of) {
    std::pair<std::vector<ShardingType>, std::vector<ComputeKernel>> both;
    for (const ShardingChoice& choice : embedding::allowed_choices(problem, of)) {
      both.first.push_back(choice.sharding_type);
      both.second.push_back(choice.compute_kernel);
    }
    return std::pair{sorted(std::move(both.first)), sorted(std::move(both.second))};
  };
  Table free = table;
  free.constraints.reset();
  const auto [types, kernels] = split(table);
  const auto [all_types, all_kernels] = split(free);
  if (types != all_types) out.list("sharding_types", types, name_of<ShardingType>);
  if (kernels != all_kernels) out.list("compute_kernels", kernels, name_of<ComputeKernel>);
}

template <class Value>
bool all_equal(const std::vector<Value>& values, Value to) {
  return std::all_of(values.begin(), values.end(), [to](Value value) { return value == to; });
}

void write_cache(const Problem& problem, const Table& table, FactWriter& out) {
  const CacheParams& cache = *table.constraints->cache_params;
  const std::vector<double> chosen = embedding::load_factors_to_choose(problem, table);
  if (!chosen.empty()) out.list("cache_params/load_factors", chosen);
  if (cache.load_factor) out.fact("cache_params/load_factor", *cache.load_factor);
  out.unless(false, "cache_params/prefetch_pipeline", cache.prefetch_pipeline.value_or(false))
      .unless(0, "cache_params/multipass_prefetch_config/num_passes",
              cache.prefetch_passes.value_or(0));
  if (!cache.stats) return;
  out.fact("cache_params/stats/cacheability", cache.stats->cacheability)
      .fact("cache_params/stats/expected_lookups", cache.stats->expected_lookups)
      .list("cache_params/stats/mrc_hist_counts", cache.stats->mrc_hist_counts)
      .fact("cache_params/stats/height", cache.stats->height);
}

void write_constraints(const Problem& problem, const Table& table, FactWriter& out) {
  const ParameterConstraints& c = *table.constraints;
  write_choices(problem, table, out);
  const std::int64_t block = c.min_partition.value_or(0);
  out.unless(embedding::kMinColumnWiseDim, "min_partition",
             block > 0 ? block : embedding::kMinColumnWiseDim);
  // Without constraints a table counts one input, so an equal value is no fact.
  if (c.pooling_factors != ParameterConstraints().pooling_factors)
    out.list("pooling_factors", c.pooling_factors);
  if (!all_equal(c.num_poolings, 1.0)) out.list("num_poolings", c.num_poolings);
  if (!all_equal(c.batch_sizes, problem.batch_size())) out.list("batch_sizes", c.batch_sizes);
  if (!table.module_has_weights()) out.unless(false, "is_weighted", c.is_weighted);
  if (c.output_dtype) out.fact("output_dtype", to_name(*c.output_dtype));
  if (c.cache_params) write_cache(problem, table, out);
  if (c.key_value_params) {
    out.unless(std::int64_t{0}, "key_value_params/max_l1_cache_size",
               c.key_value_params->max_l1_cache_size_mib.value_or(0));
  }
  out.unless(false, "use_virtual_table", c.use_virtual_table);
}

void write_placement(const TablePlacement& placement, FactWriter& out) {
  if (placement.ranks) out.list("ranks", sorted(*placement.ranks));
  if (placement.hosts) out.list("hosts", sorted(*placement.hosts));
  std::vector<embedding::ShardRanks> shards = placement.shard_ranks;
  std::sort(shards.begin(), shards.end(),
            [](const auto& a, const auto& b) { return a.shard < b.shard; });
  for (const embedding::ShardRanks& own : shards)
    out.list("shard_ranks/" + std::to_string(own.shard), sorted(own.ranks));
  if (placement.max_shards) out.fact("max_shards", *placement.max_shards);
  out.unless(false, "distinct_ranks", placement.distinct_ranks);
}

void write_tables(const Problem& problem, FactWriter& out) {
  std::vector<std::pair<std::string, const Table*>> tables;
  for (const Table& table : problem.tables())
    tables.emplace_back(table.fqn(), &table);
  std::sort(tables.begin(), tables.end());
  out.section("tables");
  for (const auto& [name, table] : tables) {
    out.owner(name);
    write_table(*table, out);
  }
  out.section("constraints");
  for (const auto& [name, table] : tables) {
    out.owner(name);
    if (table->constraints) write_constraints(problem, *table, out);
    write_placement(table->placement, out);
  }
}

void write_groups(std::string_view section, const std::vector<TableGroup>& groups,
                  FactWriter& out) {
  std::vector<std::pair<GroupScope, std::vector<std::string>>> sets;
  sets.reserve(groups.size());
  for (const TableGroup& group : groups)
    sets.emplace_back(group.on, sorted(group.tables));
  out.section(section);
  for (const auto& [scope, tables] : sorted(std::move(sets)))
    out.owner(scope == GroupScope::kHost ? "host" : "rank").fact(list_of(tables), true);
}

void write_codec(std::string_view owner, const CommCodec& codec, FactWriter& out) {
  out.owner(owner);
  if (codec.forward) out.fact("forward", to_name(*codec.forward));
  if (codec.backward) out.fact("backward", to_name(*codec.backward));
}

void write_estimation(const ProblemSpec& spec, FactWriter& out) {
  const embedding::SharderSpec& sharder = spec.sharder;
  out.section("sharder");
  if (sharder.type == embedding::SharderSpec::Type::kQuant)
    out.fact("type", std::string_view("quant"));
  out.owner("fused_params");
  if (sharder.cache_load_factor) out.fact("cache_load_factor", *sharder.cache_load_factor);
  out.unless(false, "prefetch_pipeline", sharder.prefetch_pipeline.value_or(false))
      .unless(0, "multipass_prefetch_config/num_passes", sharder.prefetch_passes.value_or(0));
  write_codec("qcomm_codecs/pooled_all_to_all", sharder.pooled_all_to_all, out);
  write_codec("qcomm_codecs/pooled_reduce_scatter", sharder.pooled_reduce_scatter, out);
  write_codec("qcomm_codecs/sequence_all_to_all", sharder.sequence_all_to_all, out);
  const embedding::StorageEstimatorSpec& storage = spec.storage_estimator;
  const embedding::StorageEstimatorSpec usual;
  out.section("storage_estimator")
      .unless(to_name(usual.pipeline_type), "pipeline_type", to_name(storage.pipeline_type))
      .unless(false, "run_embedding_at_peak_memory", storage.run_embedding_at_peak_memory)
      .unless(false, "is_inference", storage.is_inference);
  write_perf_estimator(spec.perf_estimator, out);
  if (spec.perf_model == embedding::PerfModel::kStorage)
    out.section("perf_model").fact("", std::string_view("storage"));
}

// Writes one number if all factors are equal (nothing if they are 1), otherwise two lists: the
// dimensions (`key`/dim) and their factors (`key`).
void write_factors(std::string_view key, const FactorByDim& factors, FactWriter& out) {
  const auto& points = factors.points;
  const bool constant = std::all_of(points.begin(), points.end(), [&](const auto& point) {
    return point.factor == points.front().factor;
  });
  if (constant) {
    out.unless(1.0, key, points.empty() ? 1.0 : points.front().factor);
    return;
  }
  out.list(std::string(key) + "/dim", points, [](const auto& point) { return point.dim; });
  out.list(key, points, [](const auto& point) { return point.factor; });
}

void write_calibration(const embedding::Calibration& calibration, FactWriter& out) {
  std::vector<const KernelCalibration*> kernels;
  for (const KernelCalibration& kernel : calibration.kernels)
    kernels.push_back(&kernel);
  std::sort(kernels.begin(), kernels.end(),
            [](const auto* a, const auto* b) { return a->kernel < b->kernel; });
  out.section("calibration");
  for (const KernelCalibration* kernel : kernels) {
    out.owner(to_name(kernel->kernel));
    write_factors("time", kernel->time, out);
    write_factors("comms", kernel->comms, out);
    out.unless(1.0, "memory", kernel->memory);
  }
  if (!calibration.rank_time.empty()) out.owner("ranks").list("time", calibration.rank_time);
}

void write_margin(std::string_view tier, const MemoryMargin& margin, FactWriter& out) {
  if (margin.bytes != 0) out.fact(tier, margin.bytes);
  if (margin.fraction != 0) out.fact(tier, margin.fraction);
}

void write_memory(const Problem& problem, FactWriter& out) {
  const embedding::MemoryLimits& limits = problem.spec().memory;
  if (limits.any_reserved()) {
    out.section("reserved_memory");
    for (const MemoryTier tier : kMemoryTiers) {
      std::vector<std::int64_t> reserved;
      for (std::uint32_t rank = 0; rank < problem.topology().world_size(); ++rank)
        reserved.push_back(limits.reserved(rank)[tier].value());
      if (!all_equal(reserved, std::int64_t{0})) write_by_rank(to_name(tier), reserved, out);
    }
  }
  out.section("memory_margin");
  for (const MemoryTier tier : problem.topology().tiers())
    write_margin(to_name(tier), limits.margins[tier], out);
}

}  // namespace

void for_each_fact(const Problem& problem, const std::function<void(const ProblemFact&)>& fact) {
  FactWriter out(fact);
  // No fact for the oldest release, so that its problems hash like problems that name no release.
  out.section("torchrec")
      .unless(to_name(embedding::TorchRecRelease::kA48cef79), "", to_name(problem.spec().torchrec));
  write_topology(problem, out);
  write_machine(problem, out);
  write_tables(problem, out);
  write_groups("keep_together", problem.spec().keep_together, out);
  write_groups("keep_apart", problem.spec().keep_apart, out);
  write_estimation(problem.spec(), out);
  write_calibration(problem.spec().calibration, out);
  write_reservation(problem.spec(), out);
  write_memory(problem, out);
}

namespace {

using embedding::HardwarePerfConfig;
using embedding::PassCoefficients;
using embedding::PerfCoefficients;
using embedding::ReservationSpec;
using embedding::ShardingType;
using embedding::to_name;

std::vector<double> multipliers(const PerfCoefficients& c) {
  return {c.input_read_size, c.lookup_size, c.embedding_output, c.hash_size};
}

void write_passes(const std::string& key, const PassCoefficients& passes, FactWriter& out) {
  out.list(key + "/fwd", multipliers(passes.fwd));
  if (passes.bwd) out.list(key + "/bwd", multipliers(*passes.bwd));
}

void write_coefficients(const HardwarePerfConfig& config, FactWriter& out) {
  for (std::size_t i = 0; i < config.by_type.size(); ++i) {
    if (config.by_type[i])
      write_passes(std::string(to_name(static_cast<ShardingType>(i))), *config.by_type[i], out);
  }
  for (const HardwarePerfConfig::KernelCoefficients& own : config.by_kernel) {
    write_passes(std::string(to_name(own.type)) + "." + std::string(to_name(own.kernel)),
                 own.coefficients, out);
  }
  if (config.prefetch) {
    out.list("prefetch", std::vector<double>{config.prefetch->expected_num_lookups,
                                             config.prefetch->expected_num_unique_lookups,
                                             config.prefetch->expected_size_cache_fetches});
  }
}

void write_config(const HardwarePerfConfig& config, FactWriter& out) {
  const HardwarePerfConfig usual;
  out.owner("config");
  write_coefficients(config, out);
  out.unless(usual.weighted_kernel_multiplier, "weighted_kernel_multiplier",
             config.weighted_kernel_multiplier);
  const auto given = [&](const char* key, const auto& value) {
    if (value) out.fact(key, *value);
  };
  given("bwd_compute_multiplier", config.bwd_compute_multiplier);
  given("weighted_feature_bwd_compute_multiplier", config.weighted_feature_bwd_compute_multiplier);
  given("device_bw", config.device_bw);
  for (const auto& [kernel, bandwidth] : config.kernel_device_bandwidths)
    out.fact("kernel_device_bandwidths/" + std::string(to_name(kernel)), bandwidth);
  given("hbm_to_ddr_mem_bw", config.hbm_to_ddr_mem_bw);
  given("use_min_dim_for_lookup", config.use_min_dim_for_lookup);
  given("use_block_usage_penalty", config.use_block_usage_penalty);
  out.unless(usual.use_bytes_for_input_read_size, "use_bytes_for_input_read_size",
             config.use_bytes_for_input_read_size)
      .unless(usual.input_data_type_size, "input_data_type_size", config.input_data_type_size);
  if (!config.supported_sharding_types.empty()) {
    out.list("supported_sharding_types", config.supported_sharding_types,
             [](ShardingType type) { return to_name(type); });
  }
}

}  // namespace

void write_perf_estimator(const embedding::PerfEstimatorSpec& estimator, FactWriter& out) {
  out.section("perf_estimator")
      .unless(false, "is_inference", estimator.is_inference)
      .unless(false, "use_batch_inputs_for_expected_cache_fetches",
              estimator.use_batch_inputs_for_expected_cache_fetches)
      .unless(false, "use_linear_regression_prefetch_estimate",
              estimator.use_linear_regression_prefetch_estimate);
  if (estimator.config) write_config(*estimator.config, out);
}

void write_reservation(const embedding::ProblemSpec& spec, FactWriter& out) {
  using Type = ReservationSpec::Type;
  const ReservationSpec& reservation = spec.reservation;
  out.section("reservation");
  switch (reservation.type) {
    case Type::kNone:
      out.fact("type", std::string_view("none"));
      return;
    case Type::kFixedAbsolute:
      out.fact("type", std::string_view("fixed_absolute"))
          .fact("hbm_reserved_bytes", reservation.hbm_reserved_bytes);
      return;
    case Type::kFixed:
      out.fact("type", std::string_view("fixed")).fact("percentage", reservation.percentage);
      return;
    case Type::kInference:
      out.fact("type", std::string_view("inference"));
      break;
    case Type::kSkuAware:
      out.fact("type", std::string_view("sku_aware"))
          .fact("runtime_overhead_bytes", reservation.runtime_overhead_bytes);
      if (reservation.model_base_bytes) {
        out.fact("model_base_bytes", *reservation.model_base_bytes);
        return;
      }
      out.fact("margin_bytes", reservation.margin_bytes);
      break;
    case Type::kHeuristical:
      break;
  }
  if (reservation.takes_percentage()) out.fact("percentage", reservation.percentage);
  const std::int64_t estimate = reservation.dense_tensor_estimate_bytes.value_or(0);
  if (estimate != 0) {
    out.fact("dense_tensor_estimate", estimate);
  } else if (spec.dense_params != 0) {
    const double usual = embedding::default_dense_multiplier(reservation.type);
    out.unless(usual, "parameter_multiplier", reservation.parameter_multiplier.value_or(usual));
    out.section("dense_params").fact("", spec.dense_params);
  }
}

}  // namespace shardwright
