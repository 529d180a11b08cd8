#include "runtime/embedding/identity/estimator_facts.h"

#include <string>
#include <vector>

#include "search/embedding/compat/storage_reservations.h"

namespace shardwright {
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
