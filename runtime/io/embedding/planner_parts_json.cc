#include "runtime/io/embedding/planner_parts_json.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/io/embedding/problem_json.h"

namespace shardwright::embedding {
namespace {

Status read_factor(JsonValue value, double& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (out >= 0 && std::isfinite(out)) return {};
  return value.expected("a finite number, 0 or above");
}

Status read_bandwidth(JsonValue value, double& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_factor(value, out));
  return out > 0 ? Status() : value.expected("a bandwidth above 0");
}

// Describes a number that `read` checks: a double, or an optional one (null means absent).
template <class Number>
void describe_number(JsonMembers& members, std::string_view key, Number& out,
                     Status (*read)(JsonValue, double&), std::string_view help = {}) {
  if constexpr (std::is_same_v<Number, double>) {
    members.optional_with(
        key, [&](JsonValue v) { return read(v, out); },
        [&] { return json::number().from(0).says(help); });
  } else {
    const auto read_optional = [&](JsonValue v) {
      return v.is_null() ? Status() : read(v, out.emplace());
    };
    members.optional_with(key, read_optional,
                          [&] { return json::number().from(0).or_null().says(help); });
  }
}

template <class Number>
void factor(JsonMembers& members, std::string_view key, Number& out) {
  describe_number(members, key, out, read_factor);
}

}  // namespace

static void describe(JsonMembers& members, PerfCoefficients& out) {
  factor(members, "input_read_size_multiplier", out.input_read_size);
  factor(members, "lookup_size_multiplier", out.lookup_size);
  factor(members, "embedding_output_multiplier", out.embedding_output);
  factor(members, "hash_size_multiplier", out.hash_size);
}

static void describe(JsonMembers& members, PassCoefficients& out) {
  members.optional("fwd", out.fwd, "Of the forward pass.")
      .optional("bwd", out.bwd, "Of the backward pass.");
}

static void describe(JsonMembers& members, HardwarePerfConfig::KernelCoefficients& out) {
  members.required("sharding_type", out.type).required("compute_kernel", out.kernel);
  describe(members, out.coefficients);
}

static void describe(JsonMembers& members, PrefetchCoefficients& prefetch) {
  factor(members, "expected_num_lookups_coefficient", prefetch.expected_num_lookups);
  factor(members, "expected_num_unique_lookups_coefficient", prefetch.expected_num_unique_lookups);
  factor(members, "expected_size_cache_fetches_coefficient", prefetch.expected_size_cache_fetches);
}

namespace {

Status read_kernels(JsonValue list, HardwarePerfConfig& config) {
  if (!list.is_array()) return list.expected("a list of coefficients by type and kernel");
  return read_value(list, config.by_kernel);
}

void describe_coefficients(JsonMembers& members, HardwarePerfConfig& config) {
  for (const ShardingType type :
       {ShardingType::kTableWise, ShardingType::kRowWise, ShardingType::kTableRowWise,
        ShardingType::kDataParallel, ShardingType::kColumnWise}) {
    members.optional(to_name(type), config.by_type[static_cast<std::size_t>(type)]);
  }
  members
      .optional_with(
          "by_kernel", [&](JsonValue v) { return read_kernels(v, config); },
          [] { return json::list(shape_of(HardwarePerfConfig::KernelCoefficients())); })
      .optional("prefetch", config.prefetch);
  factor(members, "weighted_kernel_multiplier", config.weighted_kernel_multiplier);
}

Status read_kernel_bandwidths(JsonValue object, HardwarePerfConfig& config) {
  if (!object.is_object()) return object.expected("an object with a bandwidth per kernel");
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto kernel = from_name<ComputeKernel>(object[i].key());
    if (!kernel) return object[i].error("unknown compute kernel");
    double bytes_per_ms = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(read_bandwidth(object[i], bytes_per_ms));
    config.kernel_device_bandwidths.emplace_back(*kernel, bytes_per_ms);
  }
  return {};
}

}  // namespace

static void describe(JsonMembers& members, HardwarePerfConfig& config) {
  const auto coefficients = [&](JsonValue value) {
    JsonMembers inner(value);
    describe_coefficients(inner, config);
    return inner.finish();
  };
  members.optional_with("coefficients", coefficients, [] {
    return shape_by([](JsonMembers& inner) {
      HardwarePerfConfig sample;
      describe_coefficients(inner, sample);
    });
  });
  factor(members, "bwd_compute_multiplier", config.bwd_compute_multiplier);
  factor(members, "weighted_feature_bwd_compute_multiplier",
         config.weighted_feature_bwd_compute_multiplier);
  describe_number(members, "device_bw", config.device_bw, read_bandwidth, "Bytes per millisecond.");
  members.optional_with(
      "kernel_device_bandwidths", [&](JsonValue v) { return read_kernel_bandwidths(v, config); },
      [] {
        return json::by_name(json::number().says("Bytes per millisecond."))
            .with_keys(EnumNames<ComputeKernel>::kNames);
      });
  describe_number(members, "hbm_to_ddr_mem_bw", config.hbm_to_ddr_mem_bw, read_bandwidth,
                  "Bytes per millisecond.");
  members.optional("use_min_dim_for_lookup", config.use_min_dim_for_lookup)
      .optional("use_block_usage_penalty", config.use_block_usage_penalty)
      .optional("use_bytes_for_input_read_size", config.use_bytes_for_input_read_size);
  factor(members, "input_data_type_size", config.input_data_type_size);
  members.optional("supported_sharding_types", config.supported_sharding_types);
}

static void describe(JsonMembers& members, StorageEstimatorSpec& estimator) {
  members.optional("pipeline_type", estimator.pipeline_type)
      .optional("run_embedding_at_peak_memory", estimator.run_embedding_at_peak_memory)
      .optional("is_inference", estimator.is_inference);
}

static void describe(JsonMembers& members, PerfEstimatorSpec& estimator) {
  members.optional("is_inference", estimator.is_inference)
      .optional("use_batch_inputs_for_expected_cache_fetches",
                estimator.use_batch_inputs_for_expected_cache_fetches)
      .optional("use_linear_regression_prefetch_estimate",
                estimator.use_linear_regression_prefetch_estimate)
      .optional("config", estimator.config, "TorchRec's HardwarePerfConfig.");
}

namespace {

constexpr std::array<std::string_view, 2> kSharderTypes{"training", "quant"};
constexpr std::array<std::string_view, 5> kProposerTypes{"grid", "greedy", "uniform", "dp",
                                                         "scaleup"};
constexpr std::array<std::string_view, 2> kPartitionerTypes{"greedy", "memory_balanced"};
constexpr std::array<std::string_view, 2> kSortBy{"storage", "perf"};
constexpr std::array<std::string_view, 2> kPerfModels{"perf", "storage"};

// In TorchRec, a direction that is not named is not converted; its type is called torch.float.
// Source: QuantizedCommCodecs, NoOpQuantizedCommCodec, torchrec/distributed/types.py.
void describe_codec(JsonMembers& members, std::string_view key, CommCodec& codec) {
  members.object(key, [&](JsonMembers& inner) {
    codec = {DataType::kFp32, DataType::kFp32};
    inner.optional("forward", codec.forward).optional("backward", codec.backward);
  });
}

}  // namespace

static void describe(JsonMembers& members, SharderSpec& sharder) {
  members.word("type", sharder.type, "sharder type", kSharderTypes)
      .object("fused_params",
              [&](JsonMembers& inner) {
                inner.optional("cache_load_factor", sharder.cache_load_factor)
                    .optional("prefetch_pipeline", sharder.prefetch_pipeline)
                    .object("multipass_prefetch_config", [&](JsonMembers& config) {
                      config.required("num_passes", sharder.prefetch_passes);
                    });
              })
      .object(
          "qcomm_codecs",
          [&](JsonMembers& inner) {
            describe_codec(inner, "pooled_all_to_all", sharder.pooled_all_to_all);
            describe_codec(inner, "sequence_all_to_all", sharder.sequence_all_to_all);
            describe_codec(inner, "pooled_reduce_scatter", sharder.pooled_reduce_scatter);
          },
          "Data types on the wire.");
}

static void describe(JsonMembers& members, ReservationSpec& reservation) {
  members.word("type", reservation.type, "reservation type", kReservationTypeNames)
      .optional("percentage", reservation.percentage, "A fraction of the memory.")
      .optional("parameter_multiplier", reservation.parameter_multiplier)
      .optional("dense_tensor_estimate", reservation.dense_tensor_estimate_bytes, "Bytes.")
      .optional("hbm_reserved_bytes", reservation.hbm_reserved_bytes)
      .optional("margin_bytes", reservation.margin_bytes)
      .optional("runtime_overhead_bytes", reservation.runtime_overhead_bytes)
      .optional("model_base_bytes", reservation.model_base_bytes);
}

static void describe(JsonMembers& members, ProposerSpec& proposer) {
  members.word("type", proposer.type, "proposer", kProposerTypes, "", true)
      .optional("use_depth", proposer.use_depth)
      .optional("threshold", proposer.threshold)
      .optional("hbm_bins_per_device", proposer.hbm_bins_per_device)
      .optional("max_proposals", proposer.max_proposals);
}

static void describe(JsonMembers& members, PartitionerSpec& partitioner) {
  members.word("type", partitioner.type, "partitioner", kPartitionerTypes)
      .word("sort_by", partitioner.sort_by, "order", kSortBy)
      .optional("balance_modules", partitioner.balance_modules)
      .optional("max_search_count", partitioner.max_search_count)
      .optional("tolerance", partitioner.tolerance);
}

}  // namespace shardwright::embedding

namespace shardwright {

void describe_planner_parts(JsonMembers& members, embedding::ProblemSpec& spec) {
  members.optional("sharder", spec.sharder)
      .optional("reservation", spec.reservation, "Memory that TorchRec keeps for other tensors.")
      .filled("proposers", spec.proposers, "grid, greedy, greedy by sum and uniform if left out.",
              "a list of proposers", "names no proposer; leave it out for the default four")
      .optional("partitioner", spec.partitioner)
      .word("perf_model", spec.perf_model, "perf model", embedding::kPerfModels)
      .optional("storage_estimator", spec.storage_estimator)
      .optional("perf_estimator", spec.perf_estimator);
}

}  // namespace shardwright
