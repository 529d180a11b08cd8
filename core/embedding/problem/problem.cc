#include "core/embedding/problem/problem.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "core/embedding/problem/table.h"

namespace shardwright::embedding {
namespace {

// Rows and columns are exact as doubles. At 4 bytes per element and with two optimizer states, all
// bytes of a table stay below the 2^62 bytes that the planner can add.
constexpr std::int64_t kMaxRows = std::int64_t{1} << 50;
constexpr std::int64_t kMaxColumns = std::int64_t{1} << 20;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 58;
constexpr std::int64_t kMaxDenseParams = std::int64_t{1} << 52;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 40;

Status check_factors(const std::vector<double>& factors, const std::string& where) {
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!std::isfinite(factors[i]) || factors[i] < 0 || factors[i] > kMaxPoolingFactor)
      return invalid_input(where + "/" + std::to_string(i), "must be between 0 and 1e12");
  }
  return {};
}

Status check_zipf(double zipf, const std::string& where) {
  constexpr double kMost = 4;
  if (zipf >= 0 && zipf <= kMost) return {};
  return invalid_input(where, "must be between 0 and 4");
}

Status check_load_factor(const std::optional<double>& factor, const std::string& where) {
  if (factor && !(std::isfinite(*factor) && *factor >= 0 && *factor <= 1))
    return invalid_input(where, "a cache load factor must be between 0 and 1");
  return {};
}

Status check_load_factors(const CacheParams& cache, const std::string& where) {
  if (!cache.load_factors) return {};
  constexpr std::size_t kMost = 64;
  if (cache.load_factors->size() > kMost)
    return invalid_input(where, "must hold at most 64 load factors");
  for (std::size_t i = 0; i < cache.load_factors->size(); ++i) {
    const double factor = (*cache.load_factors)[i];
    if (!(factor > 0 && factor <= 1))
      return invalid_input(where + "/" + std::to_string(i),
                           "must be above 0 and at most 1, which stands for plain HBM");
  }
  return {};
}

Status check_cache(const CacheParams& cache, const std::string& where) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_load_factor(cache.load_factor, where + "/load_factor"));
  if (cache.prefetch_passes && *cache.prefetch_passes < 0)
    return invalid_input(where + "/multipass_prefetch_config/num_passes", "must not be negative");
  SHARDWRIGHT_RETURN_IF_ERROR(check_load_factors(cache, where + "/load_factors"));
  if (!cache.stats) return {};
  if (cache.stats->mrc_hist_counts.empty())
    return invalid_input(where + "/stats/mrc_hist_counts", "must hold at least one bin");
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_factors(cache.stats->mrc_hist_counts, where + "/stats/mrc_hist_counts"));
  if (cache.stats->height < 0)
    return invalid_input(where + "/stats/height", "must not be negative");
  if (!std::isfinite(cache.stats->expected_lookups) || cache.stats->expected_lookups < 0)
    return invalid_input(where + "/stats/expected_lookups", "must be a finite number, 0 or above");
  if (!std::isfinite(cache.stats->cacheability))
    return invalid_input(where + "/stats/cacheability", "must be finite");
  return {};
}

Status check_constraints(const Table& table, ComputeDevice device) {
  const ParameterConstraints& c = *table.constraints;
  const std::string where = constraints_place(table.name);
  if (c.pooling_factors.empty())
    return invalid_input(where + "/pooling_factors", "must hold one factor per feature");
  SHARDWRIGHT_RETURN_IF_ERROR(check_factors(c.pooling_factors, where + "/pooling_factors"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_factors(c.num_poolings, where + "/num_poolings"));
  const auto same_length = [&](std::size_t size, const char* key) -> Status {
    if (size == 0 || size == c.pooling_factors.size() || table.left_out(device)) return {};
    return invalid_input(where + "/" + key, "must have as many entries as pooling_factors (" +
                                                std::to_string(c.pooling_factors.size()) +
                                                "), has " + std::to_string(size));
  };
  SHARDWRIGHT_RETURN_IF_ERROR(same_length(c.num_poolings.size(), "num_poolings"));
  SHARDWRIGHT_RETURN_IF_ERROR(same_length(c.batch_sizes.size(), "batch_sizes"));
  for (std::size_t i = 0; i < c.batch_sizes.size(); ++i) {
    if (c.batch_sizes[i] < 0 || c.batch_sizes[i] > kMaxBatch) {
      return invalid_input(where + "/batch_sizes/" + std::to_string(i),
                           "must be between 0 and 2^40 samples");
    }
  }
  if (c.min_partition && *c.min_partition < 0)
    return invalid_input(where + "/min_partition", "must not be negative");
  if (c.output_dtype &&
      (*c.output_dtype == DataType::kInt64 || *c.output_dtype == DataType::kInt32))
    return invalid_input(where + "/output_dtype", "embeddings cannot be returned as " +
                                                      std::string(to_name(*c.output_dtype)));
  if (c.key_value_params) {
    const auto& l1 = c.key_value_params->max_l1_cache_size_mib;
    if (l1 && (*l1 < 0 || *l1 > (std::int64_t{1} << 33))) {
      return invalid_input(where + "/key_value_params/max_l1_cache_size",
                           "must be between 0 and 2^33 MiB");
    }
  }
  if (c.cache_params) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_cache(*c.cache_params, where + "/cache_params"));
  }
  return {};
}

Status check_table(const Table& table, ComputeDevice device, const std::string& where) {
  if (table.name.empty()) return invalid_input(where + "/name", "a table must have a name");
  const std::string of = " of table " + quoted(table.name);
  if (table.num_embeddings < 1 || table.num_embeddings > kMaxRows)
    return invalid_input(
        where + "/num_embeddings",
        "rows" + of + " must be between 1 and 2^50, is " + std::to_string(table.num_embeddings));
  if (table.embedding_dim < 1 || table.embedding_dim > kMaxColumns)
    return invalid_input(
        where + "/embedding_dim",
        "columns" + of + " must be between 1 and 2^20, is " + std::to_string(table.embedding_dim));
  if (table.num_embeddings > kMaxElements / table.embedding_dim) {
    return invalid_input(where + "/num_embeddings",
                         "rows x columns" + of +
                             " exceed 2^58 elements: " + std::to_string(table.num_embeddings) +
                             " x " + std::to_string(table.embedding_dim));
  }
  if (table.total_num_buckets) {
    if (*table.total_num_buckets < 1) {
      return invalid_input(where + "/total_num_buckets", "must be at least 1");
    }
    if (table.num_embeddings % *table.total_num_buckets != 0) {
      return invalid_input(
          where + "/total_num_buckets",
          "must divide the rows" + of + " (" + std::to_string(table.num_embeddings) + ")");
    }
  }
  if (table.zipf) SHARDWRIGHT_RETURN_IF_ERROR(check_zipf(*table.zipf, where + "/zipf"));
  return table.constraints ? check_constraints(table, device) : Status();
}

// A module with feature processors is pooled. Neither such a module nor a tower has own weights.
Status check_module(const Table& table, SharderSpec::Type sharder, const std::string& where) {
  const bool trains = sharder == SharderSpec::Type::kTraining && !table.weighted;
  const bool pools = table.kind == TableKind::kPooled && !table.tower;
  const char* of = " in training; weights are `is_weighted` of the constraints";
  if (table.feature_processed && !(trains && pools))
    return invalid_input(where + "/feature_processed",
                         std::string("is for pooled tables outside of towers") + of);
  if (!table.tower || trains) return {};
  return invalid_input(where + "/tower", std::string("is for tables") + of);
}

Status check_tables(const ProblemSpec& spec) {
  const std::vector<Table>& tables = spec.tables;
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, std::size_t> first_of_module;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Table& table = tables[i];
    const std::string where = "/tables/" + std::to_string(i);
    SHARDWRIGHT_RETURN_IF_ERROR(check_table(table, spec.topology.compute_device, where));
    SHARDWRIGHT_RETURN_IF_ERROR(check_module(table, spec.sharder.type, where));
    if (!names.insert(table.fqn()).second) {
      return invalid_input(where + "/name", "another table is called " + quoted(table.name) +
                                                "; rename one, or give it its own `module`");
    }
    const Table& first = tables[first_of_module.try_emplace(table.module, i).first->second];
    if (first.kind != table.kind || first.weighted != table.weighted ||
        first.feature_processed != table.feature_processed || first.tower != table.tower) {
      return invalid_input(where + "/module",
                           "module " + quoted(table.module) + " mixes kinds of tables: " +
                               quoted(first.name) + " and " + quoted(table.name) +
                               " must agree in kind, weighted, feature_processed and tower");
    }
  }
  return {};
}

Status check_proposer(const ProposerSpec& proposer, bool has_hbm, const std::string& where) {
  if (proposer.threshold && *proposer.threshold < 0)
    return invalid_input(where + "/threshold", "must not be negative");
  if (proposer.max_proposals < 0 || proposer.max_proposals > 100'000'000)
    return invalid_input(where + "/max_proposals", "must be between 0 and 1e8");
  if (proposer.hbm_bins_per_device > 1'000'000)
    return invalid_input(where + "/hbm_bins_per_device", "must be at most 1e6");
  if (proposer.type == ProposerSpec::Type::kDynamicProgramming && !has_hbm) {
    return invalid_input(where + "/type",
                         "the dp proposer divides HBM into bins, and a cpu topology has none; "
                         "use greedy, uniform or grid");
  }
  return {};
}

Status check_reserved_bytes(const ReservationSpec& reservation) {
  for (const auto& [bytes, key] :
       {std::pair{reservation.hbm_reserved_bytes, "hbm_reserved_bytes"},
        std::pair{reservation.margin_bytes, "margin_bytes"},
        std::pair{reservation.runtime_overhead_bytes, "runtime_overhead_bytes"},
        std::pair{reservation.model_base_bytes.value_or(0), "model_base_bytes"},
        std::pair{reservation.dense_tensor_estimate_bytes.value_or(0), "dense_tensor_estimate"}}) {
    if (bytes < 0 || bytes > kMaxRankBytes)
      return invalid_input(std::string("/reservation/") + key, "must be between 0 and 2^53 bytes");
  }
  return {};
}

// Checks that the release of TorchRec knows the device, the reservation and the estimator.
Status check_known_to_release(const ProblemSpec& spec) {
  using Type = ReservationSpec::Type;
  const ReleaseRules& release = rules_of(spec.torchrec);
  const std::string unknown =
      " is not in TorchRec " + std::string(to_name(spec.torchrec)) + "; choose a newer release";
  if (spec.topology.compute_device == ComputeDevice::kTpu && !release.has_tpu)
    return invalid_input("/topology/compute_device", "tpu" + unknown);
  const bool absolute =
      spec.reservation.type == Type::kFixedAbsolute || spec.reservation.type == Type::kSkuAware;
  if (absolute && !release.has_absolute_reservations)
    return invalid_input("/reservation/type", "this reservation" + unknown);
  const PerfEstimatorSpec& estimator = spec.perf_estimator;
  const bool configured = estimator.config ||
                          estimator.use_batch_inputs_for_expected_cache_fetches ||
                          estimator.use_linear_regression_prefetch_estimate;
  if (configured && !release.has_hardware_configs)
    return invalid_input("/perf_estimator", "a configured estimator" + unknown);
  if (estimator.use_linear_regression_prefetch_estimate &&
      !(estimator.config && estimator.config->prefetch)) {
    return invalid_input("/perf_estimator/use_linear_regression_prefetch_estimate",
                         "needs the prefetch coefficients of a config");
  }
  return {};
}

Status check_planner(const ProblemSpec& spec) {
  if (spec.batch_size < 1 || spec.batch_size > kMaxBatch)
    return invalid_input("/batch_size", "must be between 1 and 2^40 samples per rank, is " +
                                            std::to_string(spec.batch_size));
  SHARDWRIGHT_RETURN_IF_ERROR(check_zipf(spec.zipf, "/zipf"));
  if (spec.dense_params < 0 || spec.dense_params > kMaxDenseParams)
    return invalid_input("/dense_params", "must be between 0 and 2^52 parameters");
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_load_factor(spec.sharder.cache_load_factor, "/sharder/fused_params/cache_load_factor"));
  if (spec.sharder.prefetch_passes && *spec.sharder.prefetch_passes < 0)
    return invalid_input("/sharder/fused_params/multipass_prefetch_config/num_passes",
                         "must not be negative");
  const ReservationSpec& reservation = spec.reservation;
  if (!(reservation.percentage >= 0 && reservation.percentage <= 1))
    return invalid_input("/reservation/percentage", "must be a fraction between 0 and 1");
  if (reservation.parameter_multiplier &&
      !(std::isfinite(*reservation.parameter_multiplier) &&
        *reservation.parameter_multiplier >= 0 && *reservation.parameter_multiplier <= 1e6)) {
    return invalid_input("/reservation/parameter_multiplier", "must be between 0 and 1e6");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_reserved_bytes(reservation));
  if (spec.partitioner.max_search_count < 0 || spec.partitioner.max_search_count > 1'000'000)
    return invalid_input("/partitioner/max_search_count", "must be between 0 and 1e6");
  if (!std::isfinite(spec.partitioner.tolerance))
    return invalid_input("/partitioner/tolerance", "must be finite");
  const bool has_hbm = spec.topology.compute_device != ComputeDevice::kCpu ||
                       !spec.topology.custom_hbm_cap_bytes.empty();
  for (std::size_t i = 0; i < spec.proposers.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_proposer(spec.proposers[i], has_hbm, "/proposers/" + std::to_string(i)));
  }
  return {};
}

// Best mode chooses load factors only for a kernel with a cache, and only if TorchRec counts the
// fetches of the cache for every load factor.
Status check_chosen_load_factors(const Table& table, const ProblemSpec& spec) {
  if (!table.constraints || !table.constraints->cache_params) return {};
  const CacheParams& cache = *table.constraints->cache_params;
  if (!cache.load_factors) return {};
  const std::string where = constraints_place(table.name) + "/cache_params/load_factors";
  const std::vector<ComputeKernel>& kernels = table.constraints->compute_kernels;
  if (spec.topology.compute_device != ComputeDevice::kCuda ||
      spec.sharder.type != SharderSpec::Type::kTraining) {
    return invalid_input(where,
                         "needs the kernel fused_uvm_caching, which only training on cuda "
                         "has; remove it");
  }
  if (!kernels.empty() &&
      std::find(kernels.begin(), kernels.end(), ComputeKernel::kFusedUvmCaching) == kernels.end())
    return invalid_input(where, "needs the kernel fused_uvm_caching; add it to compute_kernels");
  if (cache.stats && !cache.load_factor && !spec.sharder.cache_load_factor)
    return invalid_input(where,
                         "needs a load_factor beside stats: without one TorchRec does not "
                         "count the fetches of its own option");
  return {};
}

// Sharding groups average the replicas of shards, which is for training only.
Status check_trains(const ProblemSpec& spec) {
  const bool inference = spec.sharder.type == SharderSpec::Type::kQuant ||
                         spec.storage_estimator.is_inference || spec.perf_estimator.is_inference;
  if (!spec.topology.groups || !inference) return {};
  return invalid_input("/topology/sharding_groups", "is for training, and this is inference");
}

// Returns true if some constraint names the kernel key_value, without which no table uses SSD.
bool names_key_value(const std::vector<Table>& tables) {
  return std::any_of(tables.begin(), tables.end(), [](const Table& table) {
    if (!table.constraints) return false;
    const std::vector<ComputeKernel>& kernels = table.constraints->compute_kernels;
    return std::find(kernels.begin(), kernels.end(), ComputeKernel::kKeyValue) != kernels.end();
  });
}

// Sets memory that the topology does not state, by the rules of the release.
void settle_memory(ProblemSpec& spec) {
  const ReleaseRules& rules = rules_of(spec.torchrec);
  TopologySpec& topology = spec.topology;
  if (!topology.counts_ssd() && names_key_value(spec.tables))
    topology.ssd_cap_bytes = rules.ssd_cap_bytes;
  if (rules.no_memory_is_default && topology.hbm_cap_bytes == 0) topology.hbm_cap_bytes.reset();
  if (rules.no_memory_is_default && topology.ddr_cap_bytes == 0) topology.ddr_cap_bytes.reset();
}

// Source: EmbeddingShardingPlanner.__init__, torchrec/distributed/planner/planners.py.
std::vector<ProposerSpec> default_proposers() {
  ProposerSpec grid, greedy_depth, greedy_sum, uniform;
  grid.type = ProposerSpec::Type::kGrid;
  greedy_sum.use_depth = false;
  uniform.type = ProposerSpec::Type::kUniform;
  return {grid, greedy_depth, greedy_sum, uniform};
}

// Quantised modules order their tables in groups: pooled tables by pooling, sequence tables by data
// type. Groups are in the order of their first tables. Source: EmbeddingBagCollection.__init__ and
// EmbeddingCollection.__init__, torchrec/quant/embedding_modules.py.
void group_quantised(const std::vector<Table>& tables, std::vector<TableId>& order) {
  const auto alike = [&](TableId a, TableId b) {
    const Table &x = tables[a.index()], &y = tables[b.index()];
    return x.use_virtual_table == y.use_virtual_table &&
           (x.kind == TableKind::kSequence ? x.data_type == y.data_type : x.pooling == y.pooling);
  };
  for (auto group = order.begin(); group != order.end();) {
    const TableId first = *group;
    group = std::stable_partition(group, order.end(), [&](TableId id) { return alike(id, first); });
  }
}

}  // namespace

Problem::Problem(ProblemSpec spec, Topology topology, PlacementRules rules)
    : spec_(std::move(spec)),
      release_(&rules_of(spec_.torchrec)),
      topology_(std::move(topology)),
      rules_(std::move(rules)) {
  std::unordered_map<std::string, std::uint32_t> index;
  for (std::size_t i = 0; i < spec_.tables.size(); ++i) {
    const auto [at, added] =
        index.try_emplace(spec_.tables[i].module, static_cast<std::uint32_t>(modules_.size()));
    if (added) modules_.push_back(Module{spec_.tables[i].module, {}});
    modules_[at->second].tables.emplace_back(i);
    module_of_.push_back(at->second);
  }
  if (spec_.sharder.type != SharderSpec::Type::kQuant) return;
  for (Module& module : modules_)
    group_quantised(spec_.tables, module.tables);
}

Status check_layout(const Problem& problem) {
  if (problem.topology().layouts().empty()) return {};
  return invalid_input("/topology",
                       "best mode's `plan` chooses among sizes of sharding groups and pods; "
                       "everything else needs one size: give {sharding_group_size} and {pod_size}");
}

Result<Problem> Problem::make(ProblemSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_known_to_release(spec));
  settle_memory(spec);
  Result<Topology> topology = Topology::make(spec.topology);
  if (!topology.ok())
    return invalid_input("/topology" + topology.error().where, topology.error().message);
  if (topology->has_uneven_hosts() && !rules_of(spec.torchrec).has_uneven_hosts)
    return invalid_input("/topology/local_world_size",
                         "must divide the number of ranks in TorchRec " +
                             std::string(to_name(spec.torchrec)) + "; choose a newer release");
  spec.topology = topology->spec();
  for (Table& table : spec.tables) {
    // Source: the default of `module` in runtime/io/README.md. Tables of different kinds get
    // different modules.
    if (table.module.empty()) {
      table.module = table.tower                          ? "tower"
                     : table.kind == TableKind::kSequence ? "ec"
                     : table.feature_processed            ? "fp_ebc"
                     : table.weighted                     ? "ebc_w"
                                                          : "ebc";
    }
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_tables(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_planner(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_trains(spec));
  for (const Table& table : spec.tables)
    SHARDWRIGHT_RETURN_IF_ERROR(check_chosen_load_factors(table, spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec.memory, *topology));
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec.calibration, topology->world_size()));
  std::vector<double>& rank_time = spec.calibration.rank_time;
  if (std::all_of(rank_time.begin(), rank_time.end(), [](double x) { return x == 1; }))
    rank_time.clear();
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      PlacementRules rules,
      PlacementRules::make(spec.tables, spec.keep_together, spec.keep_apart, *topology));
  if (spec.proposers.empty()) spec.proposers = default_proposers();
  return Problem(std::move(spec), std::move(topology).value(), std::move(rules));
}

}  // namespace shardwright::embedding
