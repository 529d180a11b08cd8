#include "runtime/io/embedding/planner_parts_json.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/io/embedding/problem_json.h"

namespace shardwright::internal {
namespace {

using embedding::ComputeKernel;
using embedding::HardwarePerfConfig;
using embedding::PassCoefficients;
using embedding::PerfCoefficients;
using embedding::ShardingType;

Status read_factor(JsonValue value, double& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out >= 0 && std::isfinite(out)) return {};
  return value.expected("a finite number, 0 or above");
}

// Returns a function that reads a factor, or a positive one for bandwidths.
auto factor(double& out) {
  return [&out](JsonValue value) { return read_factor(value, out); };
}
auto factor(std::optional<double>& out) {
  return [&out](JsonValue value) -> Status {
    if (value.is_null()) return {};
    return read_factor(value, out.emplace());
  };
}
Status read_bandwidth(JsonValue value, double& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_factor(value, out));
  return out > 0 ? Status() : value.expected("a bandwidth above 0");
}
auto bandwidth(std::optional<double>& out) {
  return [&out](JsonValue value) -> Status {
    if (value.is_null()) return {};
    return read_bandwidth(value, out.emplace());
  };
}

Status read_multipliers(JsonValue value, PerfCoefficients& out) {
  return ObjectReader(value)
      .optional_with("input_read_size_multiplier", factor(out.input_read_size))
      .optional_with("lookup_size_multiplier", factor(out.lookup_size))
      .optional_with("embedding_output_multiplier", factor(out.embedding_output))
      .optional_with("hash_size_multiplier", factor(out.hash_size))
      .finish();
}

void read_passes(ObjectReader& reader, PassCoefficients& out) {
  reader.optional_with("fwd", [&](JsonValue v) { return read_multipliers(v, out.fwd); })
      .optional_with("bwd", [&](JsonValue v) -> Status {
        if (v.is_null()) return {};
        return read_multipliers(v, out.bwd.emplace());
      });
}

Status read_type(JsonValue value, std::optional<PassCoefficients>& out) {
  if (value.is_null()) return {};
  ObjectReader reader(value);
  read_passes(reader, out.emplace());
  return reader.finish();
}

Status read_kernels(JsonValue list, HardwarePerfConfig& config) {
  if (!list.is_array()) return list.expected("a list of coefficients by type and kernel");
  for (std::size_t i = 0; i < list.size(); ++i) {
    HardwarePerfConfig::KernelCoefficients& own = config.by_kernel.emplace_back();
    ObjectReader reader(list[i]);
    reader.required("sharding_type", own.type).required("compute_kernel", own.kernel);
    read_passes(reader, own.coefficients);
    SHARDWRIGHT_RETURN_IF_ERROR(reader.finish());
  }
  return {};
}

Status read_prefetch(JsonValue value, HardwarePerfConfig& config) {
  if (value.is_null()) return {};
  embedding::PrefetchCoefficients& prefetch = config.prefetch.emplace();
  return ObjectReader(value)
      .optional_with("expected_num_lookups_coefficient", factor(prefetch.expected_num_lookups))
      .optional_with("expected_num_unique_lookups_coefficient",
                     factor(prefetch.expected_num_unique_lookups))
      .optional_with("expected_size_cache_fetches_coefficient",
                     factor(prefetch.expected_size_cache_fetches))
      .finish();
}

Status read_coefficients(JsonValue value, HardwarePerfConfig& config) {
  ObjectReader reader(value);
  for (const ShardingType type :
       {ShardingType::kTableWise, ShardingType::kRowWise, ShardingType::kTableRowWise,
        ShardingType::kDataParallel, ShardingType::kColumnWise}) {
    reader.optional_with(to_name(type), [&config, type](JsonValue v) {
      return read_type(v, config.by_type[static_cast<std::size_t>(type)]);
    });
  }
  return reader.optional_with("by_kernel", [&](JsonValue v) { return read_kernels(v, config); })
      .optional_with("prefetch", [&](JsonValue v) { return read_prefetch(v, config); })
      .optional_with("weighted_kernel_multiplier", factor(config.weighted_kernel_multiplier))
      .finish();
}

Status read_kernel_bandwidths(JsonValue object, HardwarePerfConfig& config) {
  if (!object.is_object()) return object.expected("an object with a bandwidth per kernel");
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto kernel = embedding::from_name<ComputeKernel>(object[i].key());
    if (!kernel) return object[i].error("unknown compute kernel");
    double bytes_per_ms = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(read_bandwidth(object[i], bytes_per_ms));
    config.kernel_device_bandwidths.emplace_back(*kernel, bytes_per_ms);
  }
  return {};
}

Status read_config(JsonValue value, std::optional<HardwarePerfConfig>& out) {
  if (value.is_null()) return {};
  HardwarePerfConfig& config = out.emplace();
  return ObjectReader(value)
      .optional_with("coefficients", [&](JsonValue v) { return read_coefficients(v, config); })
      .optional_with("bwd_compute_multiplier", factor(config.bwd_compute_multiplier))
      .optional_with("weighted_feature_bwd_compute_multiplier",
                     factor(config.weighted_feature_bwd_compute_multiplier))
      .optional_with("device_bw", bandwidth(config.device_bw))
      .optional_with("kernel_device_bandwidths",
                     [&](JsonValue v) { return read_kernel_bandwidths(v, config); })
      .optional_with("hbm_to_ddr_mem_bw", bandwidth(config.hbm_to_ddr_mem_bw))
      .optional("use_min_dim_for_lookup", config.use_min_dim_for_lookup)
      .optional("use_block_usage_penalty", config.use_block_usage_penalty)
      .optional("use_bytes_for_input_read_size", config.use_bytes_for_input_read_size)
      .optional_with("input_data_type_size", factor(config.input_data_type_size))
      .optional("supported_sharding_types", config.supported_sharding_types)
      .finish();
}

}  // namespace

Status read_storage_estimator(JsonValue value, embedding::StorageEstimatorSpec& estimator) {
  return ObjectReader(value)
      .optional("pipeline_type", estimator.pipeline_type)
      .optional("run_embedding_at_peak_memory", estimator.run_embedding_at_peak_memory)
      .optional("is_inference", estimator.is_inference)
      .finish();
}

Status read_perf_estimator(JsonValue value, embedding::PerfEstimatorSpec& estimator) {
  return ObjectReader(value)
      .optional("is_inference", estimator.is_inference)
      .optional("use_batch_inputs_for_expected_cache_fetches",
                estimator.use_batch_inputs_for_expected_cache_fetches)
      .optional("use_linear_regression_prefetch_estimate",
                estimator.use_linear_regression_prefetch_estimate)
      .optional_with("config", [&](JsonValue v) { return read_config(v, estimator.config); })
      .finish();
}

namespace {

using embedding::CommCodec;
using embedding::DataType;
using embedding::PartitionerSpec;
using embedding::ProblemSpec;
using embedding::ProposerSpec;
using embedding::ReservationSpec;
using embedding::SharderSpec;

// Returns a function that reads one of `names`; name i stands for value i of the enumeration.
template <class Enum, std::size_t Size>
auto choice(std::string_view what, const std::array<std::string_view, Size>& names, Enum& out) {
  return [what, &names, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

constexpr std::array<std::string_view, 2> kSharderTypes{"training", "quant"};
constexpr std::array<std::string_view, 5> kProposerTypes{"grid", "greedy", "uniform", "dp",
                                                         "scaleup"};
constexpr std::array<std::string_view, 2> kPartitionerTypes{"greedy", "memory_balanced"};
constexpr std::array<std::string_view, 2> kSortBy{"storage", "perf"};
constexpr std::array<std::string_view, 2> kPerfModels{"perf", "storage"};

// TorchRec's codecs leave a direction that nobody names as it is, which they call torch.float.
// Source: QuantizedCommCodecs, NoOpQuantizedCommCodec, torchrec/distributed/types.py.
Status read_codec(JsonValue value, CommCodec& codec) {
  if (value.is_null()) return {};
  codec = {DataType::kFp32, DataType::kFp32};
  return ObjectReader(value)
      .optional("forward", codec.forward)
      .optional("backward", codec.backward)
      .finish();
}

Status read_codecs(JsonValue value, SharderSpec& sharder) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional_with("pooled_all_to_all",
                     [&](JsonValue v) { return read_codec(v, sharder.pooled_all_to_all); })
      .optional_with("sequence_all_to_all",
                     [&](JsonValue v) { return read_codec(v, sharder.sequence_all_to_all); })
      .optional_with("pooled_reduce_scatter",
                     [&](JsonValue v) { return read_codec(v, sharder.pooled_reduce_scatter); })
      .finish();
}

Status read_passes(JsonValue value, std::optional<int>& passes) {
  if (value.is_null()) return {};
  return ObjectReader(value).required("num_passes", passes).finish();
}

Status read_fused_params(JsonValue value, SharderSpec& sharder) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional("cache_load_factor", sharder.cache_load_factor)
      .optional("prefetch_pipeline", sharder.prefetch_pipeline)
      .optional_with("multipass_prefetch_config",
                     [&](JsonValue v) { return read_passes(v, sharder.prefetch_passes); })
      .finish();
}

Status read_sharder(JsonValue value, SharderSpec& sharder) {
  return ObjectReader(value)
      .optional_with("type", choice("sharder type", kSharderTypes, sharder.type))
      .optional_with("fused_params", [&](JsonValue v) { return read_fused_params(v, sharder); })
      .optional_with("qcomm_codecs", [&](JsonValue v) { return read_codecs(v, sharder); })
      .finish();
}

Status read_reservation(JsonValue value, ReservationSpec& reservation) {
  return ObjectReader(value)
      .optional_with("type", choice("reservation type", kReservationTypeNames, reservation.type))
      .optional("percentage", reservation.percentage)
      .optional("parameter_multiplier", reservation.parameter_multiplier)
      .optional("dense_tensor_estimate", reservation.dense_tensor_estimate_bytes)
      .optional("hbm_reserved_bytes", reservation.hbm_reserved_bytes)
      .optional("margin_bytes", reservation.margin_bytes)
      .optional("runtime_overhead_bytes", reservation.runtime_overhead_bytes)
      .optional("model_base_bytes", reservation.model_base_bytes)
      .finish();
}

Status read_proposers(JsonValue list, std::vector<ProposerSpec>& proposers) {
  if (list.is_null()) return {};
  if (!list.is_array()) return list.expected("a list of proposers");
  if (list.size() == 0) return list.error("names no proposer; leave it out for the default four");
  for (std::size_t i = 0; i < list.size(); ++i) {
    ProposerSpec& proposer = proposers.emplace_back();
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(list[i])
            .required_with("type", choice("proposer", kProposerTypes, proposer.type))
            .optional("use_depth", proposer.use_depth)
            .optional("threshold", proposer.threshold)
            .optional("hbm_bins_per_device", proposer.hbm_bins_per_device)
            .optional("max_proposals", proposer.max_proposals)
            .finish());
  }
  return {};
}

Status read_partitioner(JsonValue value, PartitionerSpec& partitioner) {
  return ObjectReader(value)
      .optional_with("type", choice("partitioner", kPartitionerTypes, partitioner.type))
      .optional_with("sort_by", choice("order", kSortBy, partitioner.sort_by))
      .optional("balance_modules", partitioner.balance_modules)
      .optional("max_search_count", partitioner.max_search_count)
      .optional("tolerance", partitioner.tolerance)
      .finish();
}

}  // namespace

void read_planner_parts(ObjectReader& reader, ProblemSpec& spec) {
  reader.optional_with("sharder", [&](JsonValue v) { return read_sharder(v, spec.sharder); })
      .optional_with("reservation",
                     [&](JsonValue v) { return read_reservation(v, spec.reservation); })
      .optional_with("proposers", [&](JsonValue v) { return read_proposers(v, spec.proposers); })
      .optional_with("partitioner",
                     [&](JsonValue v) { return read_partitioner(v, spec.partitioner); })
      .optional_with("perf_model", choice("perf model", kPerfModels, spec.perf_model))
      .optional_with("storage_estimator",
                     [&](JsonValue v) { return read_storage_estimator(v, spec.storage_estimator); })
      .optional_with("perf_estimator",
                     [&](JsonValue v) { return read_perf_estimator(v, spec.perf_estimator); });
}

}  // namespace shardwright::internal
