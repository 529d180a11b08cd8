#include "runtime/io/embedding/topology_json.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/io/json/json_reader.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

using embedding::TopologySpec;

Status read_custom(JsonValue value, TopologySpec& topology) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional_with("hbm_cap", filled_list(topology.custom_hbm_cap_bytes))
      .optional_with("ddr_cap", filled_list(topology.custom_ddr_cap_bytes))
      .optional_with("ssd_cap", filled_list(topology.custom_ssd_cap_bytes))
      .finish();
}

// One size, or a list to choose from.
Status read_layout_sizes(JsonValue value, std::vector<std::int64_t>& sizes) {
  if (value.is_null()) return {};
  if (value.is_array()) return read_value(value, sizes);
  return read_value(value, sizes.emplace_back());
}

Status read_groups(JsonValue value, std::optional<embedding::ShardingGroupSpec>& out) {
  if (value.is_null()) return {};
  embedding::ShardingGroupSpec& groups = out.emplace();
  return ObjectReader(value)
      .optional_with("size", [&](JsonValue v) { return read_layout_sizes(v, groups.sizes); })
      .optional("sync_interval", groups.sync_interval)
      .optional("include_optimizer_state", groups.include_optimizer_state)
      .optional("use_inter_host_allreduce", groups.use_inter_host_allreduce)
      .finish();
}

Status read_entry(JsonValue value, TopologySuggestion& out) {
  return ObjectReader(value)
      .required("world_size", out.world_size)
      .optional("local_world_size", out.local_world_size)
      .optional("hbm_gib", out.hbm_gib)
      .optional("ddr_gib", out.ddr_gib)
      .optional("ssd_gib", out.ssd_gib)
      .optional("batch_per_gpu", out.batch_per_gpu)
      .optional("global_batch", out.global_batch)
      .ignore({"hbm_fill", "note", "source"})
      .finish();
}

std::int64_t bytes_of_gib(double gib) {
  return static_cast<std::int64_t>(std::llround(gib * static_cast<double>(kGibibyte)));
}

}  // namespace

Status read_topology(JsonValue value, TopologySpec& topology) {
  return ObjectReader(value)
      .optional("world_size", topology.world_size)
      .optional("local_world_size", topology.local_world_size)
      .optional("compute_device", topology.compute_device)
      .optional("hbm_cap", topology.hbm_cap_bytes)
      .optional("ddr_cap", topology.ddr_cap_bytes)
      .optional("ssd_cap", topology.ssd_cap_bytes)
      .optional("intra_host_bw", topology.intra_host_bw)
      .optional("inter_host_bw", topology.inter_host_bw)
      .optional("hbm_mem_bw", topology.hbm_mem_bw)
      .optional("ddr_mem_bw", topology.ddr_mem_bw)
      .optional("hbm_to_ddr_mem_bw", topology.hbm_to_ddr_mem_bw)
      .optional("ssd_mem_bw", topology.ssd_mem_bw)
      .optional("bwd_compute_multiplier", topology.bwd_compute_multiplier)
      .optional("weighted_feature_bwd_compute_multiplier",
                topology.weighted_feature_bwd_compute_multiplier)
      .optional("uneven_sharding_perf_multiplier", topology.uneven_sharding_perf_multiplier)
      .optional_with("pod_size",
                     [&](JsonValue v) { return read_layout_sizes(v, topology.pod_sizes); })
      .optional_with("sharding_groups",
                     [&](JsonValue v) { return read_groups(v, topology.groups); })
      .optional_with("custom", [&](JsonValue v) { return read_custom(v, topology); })
      .ignore({"note"})
      .finish();
}

Status read_suggestion(JsonValue meta, std::optional<TopologySuggestion>& suggestion) {
  const std::optional<JsonValue> list = meta.find("topologies");
  if (!list) return {};
  if (!list->is_array()) return list->expected("a list of topologies");
  if (list->size() == 0) return {};
  return read_entry((*list)[0], suggestion.emplace());
}

Status apply_suggestion(const TopologySuggestion& suggestion, TopologySpec& topology) {
  topology.world_size = suggestion.world_size;
  topology.local_world_size = suggestion.local_world_size;
  for (const auto& gib : {suggestion.hbm_gib, suggestion.ddr_gib, suggestion.ssd_gib}) {
    constexpr double kMaxGib = 1 << 23;  // 8 PiB
    if (gib && !(*gib > 0 && *gib <= kMaxGib)) {
      return invalid_input("/meta/topologies/0",
                           "memory per rank must be above 0 and at most 8 PiB");
    }
  }
  if (suggestion.hbm_gib) topology.hbm_cap_bytes = bytes_of_gib(*suggestion.hbm_gib);
  if (suggestion.ddr_gib) topology.ddr_cap_bytes = bytes_of_gib(*suggestion.ddr_gib);
  if (suggestion.ssd_gib) topology.ssd_cap_bytes = bytes_of_gib(*suggestion.ssd_gib);
  return {};
}

namespace {

using embedding::Calibration;
using embedding::ComputeKernel;
using embedding::FactorAtDim;
using embedding::FactorByDim;
using embedding::KernelCalibration;
using embedding::kMemoryTiers;
using embedding::MemoryLimits;
using embedding::MemoryMargin;
using embedding::MemoryTier;
using embedding::to_name;

// Reads one number of bytes for all ranks, or a list with one per rank.
Status read_sizes(JsonValue value, std::vector<std::int64_t>& sizes) {
  if (value.is_null()) return {};
  if (value.is_array()) return read_value(value, sizes);
  return read_value(value, sizes.emplace_back());
}

Status read_margin(JsonValue value, MemoryMargin& margin) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value.number());
  if (number < 0) return value.error("must not be negative");
  if (number < 1) {
    margin.fraction = number;
    return {};
  }
  // 5 is more likely per cent than bytes.
  constexpr double kLeastBytes = 1024;
  if (number < kLeastBytes) {
    return value.expected("a fraction below 1, such as " +
                          json_number(number <= 100 ? number / 100 : 0.1) +
                          ", or bytes, at least 1024");
  }
  const auto bytes = value.integer();
  if (!bytes.ok() || *bytes > embedding::kMaxRankBytes) {
    return value.expected("a fraction below 1, or whole bytes up to 2^53");
  }
  margin.bytes = *bytes;
  return {};
}

// Reads one factor for all widths, or a list of {dim, <key>}.
Status read_factors(JsonValue value, std::string_view key, FactorByDim& factors) {
  if (value.is_null()) return {};
  if (!value.is_array()) return read_value(value, factors.points.emplace_back().factor);
  if (value.size() == 0) return value.error("holds no factor");
  for (std::size_t i = 0; i < value.size(); ++i) {
    FactorAtDim& point = factors.points.emplace_back();
    SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value[i])
                                    .required("dim", point.dim)
                                    .required(key, point.factor)
                                    .ignore({"note"})
                                    .finish());
  }
  return {};
}

Status read_kernels(JsonValue value, std::vector<KernelCalibration>& kernels) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object with one entry per compute kernel");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto kernel = embedding::from_name<ComputeKernel>(value[i].key());
    if (!kernel) {
      return value[i].error(
          "unknown compute kernel \"" + std::string(value[i].key()) + "\"" +
          suggestion(value[i].key(), embedding::EnumNames<ComputeKernel>::kNames));
    }
    KernelCalibration& factors = kernels.emplace_back();
    factors.kernel = *kernel;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value[i])
            .optional_with("time",
                           [&](JsonValue v) { return read_factors(v, "time", factors.time); })
            .optional_with("comms",
                           [&](JsonValue v) { return read_factors(v, "comms", factors.comms); })
            .optional("memory", factors.memory)
            .ignore({"note"})
            .finish());
  }
  return {};
}

}  // namespace

Status read_reserved_memory(JsonValue value, MemoryLimits& limits) {
  if (value.is_null()) return {};
  ObjectReader reader(value);
  for (const MemoryTier tier : kMemoryTiers) {
    reader.optional_with(to_name(tier),
                         [&](JsonValue v) { return read_sizes(v, limits.reserved_bytes[tier]); });
  }
  return reader.ignore({"note"}).finish();
}

Status read_memory_margin(JsonValue value, MemoryLimits& limits) {
  if (!value.is_object()) {
    MemoryMargin margin;
    SHARDWRIGHT_RETURN_IF_ERROR(read_margin(value, margin));
    limits.margins = {margin, margin, margin};
    return {};
  }
  ObjectReader reader(value);
  for (const MemoryTier tier : kMemoryTiers) {
    reader.optional_with(to_name(tier),
                         [&](JsonValue v) { return read_margin(v, limits.margins[tier]); });
  }
  return reader.ignore({"note"}).finish();
}

Status read_calibration(JsonValue value, Calibration& calibration) {
  if (value.is_null()) return {};
  return ObjectReader(value)
      .optional_with("kernels", [&](JsonValue v) { return read_kernels(v, calibration.kernels); })
      .optional_with("ranks",
                     [&](JsonValue v) -> Status {
                       if (v.is_null()) return {};
                       return ObjectReader(v)
                           .optional("time", calibration.rank_time)
                           .ignore({"note"})
                           .finish();
                     })
      .ignore({"note"})
      .finish();
}

}  // namespace shardwright
