#include "runtime/io/embedding/topology_json.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/problem/gpus.h"
#include "core/nearest_name.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/sizes.h"

namespace shardwright {

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
using embedding::TopologySpec;

namespace {

// Describes a number or a list of numbers.
void describe_sizes(JsonMembers& members, std::string_view key, std::vector<std::int64_t>& sizes,
                    std::string_view help) {
  const auto read = [&](JsonValue value) -> Status {
    if (value.is_null()) return {};
    if (value.is_array()) return read_value(value, sizes);
    return read_value(value, sizes.emplace_back());
  };
  members.optional_with(key, read, [&] {
    return json::one_of({json::integer(), json::list(json::integer())}).or_null().says(help);
  });
}

// Describes a number of bytes, or a text such as "80GiB".
void describe_bytes(JsonMembers& members, std::string_view key, std::optional<std::int64_t>& bytes,
                    std::string_view help) {
  const auto read = [&](JsonValue value) -> Status {
    if (!value.is_string()) return read_value(value, bytes);
    const Result<std::int64_t> size = parse_bytes(*value.string());
    if (!size.ok()) return value.error(size.error().message);
    bytes = *size;
    return {};
  };
  members.optional_with(key, read, [&] {
    return json::one_of({json::integer(), json::text()}).or_null().says(help);
  });
}

// Describes a number of bytes per millisecond, or a text such as "900GB/s".
void describe_bandwidth(JsonMembers& members, std::string_view key, double& bytes_per_ms,
                        std::string_view help) {
  const double preset = bytes_per_ms;
  const auto read = [&](JsonValue value) -> Status {
    if (!value.is_string()) return read_value(value, bytes_per_ms);
    const Result<double> bandwidth = parse_bandwidth(*value.string());
    if (!bandwidth.ok()) return value.error(bandwidth.error().message);
    bytes_per_ms = *bandwidth / 1000;
    return {};
  };
  members.optional_with(key, read, [&] {
    JsonShape shape = json::one_of({json::number(), json::text()}).says(help);
    shape.preset = json_number(preset);
    return shape;
  });
}

void describe_gpu(JsonMembers& members, TopologySpec& topology) {
  const auto read = [&](JsonValue value) -> Status {
    std::optional<embedding::GpuModel> model;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, model));
    if (model) embedding::use_gpu(*model, topology);
    return {};
  };
  members.optional_with("gpu", read, [] {
    return shape_of(std::optional<embedding::GpuModel>())
        .says("Memory, bandwidths and ranks per host of this accelerator, unless given.");
  });
}

void describe_groups(JsonMembers& members, embedding::ShardingGroupSpec& groups) {
  describe_sizes(members, "size", groups.sizes, "Ranks that share one copy of the tables.");
  members
      .optional("sync_interval", groups.sync_interval,
                "Training steps from one average of the replicas to the next.")
      .optional("include_optimizer_state", groups.include_optimizer_state,
                "Whether optimizer state is averaged, too.")
      .optional("use_inter_host_allreduce", groups.use_inter_host_allreduce,
                "Whether the ranks of a group are consecutive, and replicas far apart.");
}

}  // namespace

void describe(JsonMembers& members, TopologySpec& topology) {
  members.optional("world_size", topology.world_size, "Ranks.")
      .optional("local_world_size", topology.local_world_size,
                "Ranks of one host; all ranks if left out.");
  describe_gpu(members, topology);
  members.optional("compute_device", topology.compute_device);
  describe_bytes(members, "hbm_cap", topology.hbm_cap_bytes,
                 "Bytes of HBM of a rank, or a text such as 80GiB; 32 GiB if left out.");
  describe_bytes(members, "ddr_cap", topology.ddr_cap_bytes,
                 "Bytes of DDR of a rank; 128 GiB if left out.");
  describe_bytes(members, "ssd_cap", topology.ssd_cap_bytes,
                 "Bytes of SSD of a rank; SSD is not counted if left out.");
  describe_bandwidth(members, "intra_host_bw", topology.intra_host_bw,
                     "Bytes per millisecond between ranks of a host, or a text such as 900GB/s.");
  describe_bandwidth(members, "inter_host_bw", topology.inter_host_bw,
                     "Bytes per millisecond between hosts.");
  describe_bandwidth(members, "hbm_mem_bw", topology.hbm_mem_bw, "Bytes per millisecond of HBM.");
  describe_bandwidth(members, "ddr_mem_bw", topology.ddr_mem_bw, "Bytes per millisecond of DDR.");
  describe_bandwidth(members, "hbm_to_ddr_mem_bw", topology.hbm_to_ddr_mem_bw,
                     "Bytes per millisecond between HBM and DDR.");
  describe_bandwidth(members, "ssd_mem_bw", topology.ssd_mem_bw, "Bytes per millisecond of SSD.");
  members
      .optional("bwd_compute_multiplier", topology.bwd_compute_multiplier,
                "Time of the backward pass per time of the forward pass.")
      .optional("weighted_feature_bwd_compute_multiplier",
                topology.weighted_feature_bwd_compute_multiplier,
                "Factor of the backward pass of weighted tables.")
      .optional("uneven_sharding_perf_multiplier", topology.uneven_sharding_perf_multiplier,
                "Factor of shards of unequal size.");
  describe_sizes(members, "pod_size", topology.pod_sizes,
                 "Hosts that are linked like one; of a list, best mode chooses.");
  members.object(
      "sharding_groups",
      [&](JsonMembers& inner) { describe_groups(inner, topology.groups.emplace()); },
      "Groups of ranks, each of which holds all tables.");
  members.object(
      "custom",
      [&](JsonMembers& inner) {
        constexpr std::string_view kEach = "Bytes, one per rank.";
        inner.filled("hbm_cap", topology.custom_hbm_cap_bytes, kEach)
            .filled("ddr_cap", topology.custom_ddr_cap_bytes, kEach)
            .filled("ssd_cap", topology.custom_ssd_cap_bytes, kEach);
      },
      "Memory that differs from rank to rank.");
  members.ignore({"note"});
}

void describe(JsonMembers& members, TopologySuggestion& suggestion) {
  members.required("world_size", suggestion.world_size)
      .optional("local_world_size", suggestion.local_world_size)
      .optional("hbm_gib", suggestion.hbm_gib)
      .optional("ddr_gib", suggestion.ddr_gib)
      .optional("ssd_gib", suggestion.ssd_gib)
      .optional("batch_per_gpu", suggestion.batch_per_gpu, "Samples per rank and step.")
      .optional("global_batch", suggestion.global_batch, "Samples per step of all ranks.")
      .ignore({"hbm_fill", "note", "source"});
}

void describe_meta(JsonMembers& members, std::optional<TopologySuggestion>& suggestion) {
  const auto read = [&](JsonValue meta) -> Status {
    const std::optional<JsonValue> list = meta.find("topologies");
    if (!list) return {};
    if (!list->is_array()) return list->expected("a list of topologies");
    if (list->size() == 0) return {};
    return read_value((*list)[0], suggestion.emplace());
  };
  const auto shape = [] {
    const JsonShape machines = json::list(shape_of(TopologySuggestion()));
    return json::object({{"topologies", JsonShape(machines).says("Machines; the first is used.")}})
        .open()
        .or_null()
        .says("Suggested machines, and remarks.");
  };
  members.optional_with("meta", read, shape);
}

namespace {

std::int64_t bytes_of_gib(double gib) {
  return static_cast<std::int64_t>(std::llround(gib * static_cast<double>(kGibibyte)));
}

}  // namespace

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

Status read_margin(JsonValue value, MemoryMargin& margin) {
  if (value.is_null()) return {};
  SHARDWRIGHT_ASSIGN_OR_RETURN(const double number, value.number());
  if (number < 0) return value.error("must not be negative");
  if (number < 1) {
    margin.fraction = number;
    return {};
  }
  // Numbers below this are refused: 5 more likely means per cent than bytes.
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

JsonShape margin_shape() {
  return json::number().from(0).or_null().says(
      "A fraction below 1, or whole bytes, at least 1024.");
}

// Describes one factor for all widths, or a list of {dim, <key>}.
void describe_factors(JsonMembers& members, std::string_view key, FactorByDim& factors,
                      std::string_view help) {
  const auto describe_point = [key](JsonMembers& inner, FactorAtDim& point) {
    inner.required("dim", point.dim, "Columns.").required(key, point.factor).ignore({"note"});
  };
  const auto read = [&](JsonValue value) -> Status {
    if (value.is_null()) return {};
    if (!value.is_array()) return read_value(value, factors.points.emplace_back().factor);
    if (value.size() == 0) return value.error("holds no factor");
    for (std::size_t i = 0; i < value.size(); ++i) {
      JsonMembers inner(value[i]);
      describe_point(inner, factors.points.emplace_back());
      SHARDWRIGHT_RETURN_IF_ERROR(inner.finish());
    }
    return {};
  };
  const auto shape = [&] {
    JsonShape point = shape_by([&](JsonMembers& inner) {
      FactorAtDim sample;
      describe_point(inner, sample);
    });
    return json::one_of({json::number(), json::list(std::move(point)).from(1)})
        .or_null()
        .says(help);
  };
  members.optional_with(key, read, shape);
}

void describe_kernel(JsonMembers& members, KernelCalibration& factors) {
  describe_factors(members, "time", factors.time,
                   "Multiplies the times of compute and prefetching.");
  describe_factors(members, "comms", factors.comms, "Multiplies the times of communication.");
  members.optional("memory", factors.memory, "Multiplies the memory.").ignore({"note"});
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
    JsonMembers members(value[i]);
    describe_kernel(members, factors);
    SHARDWRIGHT_RETURN_IF_ERROR(members.finish());
  }
  return {};
}

JsonShape kernel_shape() {
  JsonShape shape = shape_by([](JsonMembers& members) {
    KernelCalibration sample;
    describe_kernel(members, sample);
  });
  return json::by_name(std::move(shape)).with_keys(embedding::EnumNames<ComputeKernel>::kNames);
}

Status read_margins(JsonValue value, MemoryLimits& limits) {
  if (!value.is_object()) {
    MemoryMargin margin;
    SHARDWRIGHT_RETURN_IF_ERROR(read_margin(value, margin));
    limits.margins = {margin, margin, margin};
    return {};
  }
  JsonMembers members(value);
  for (const MemoryTier tier : kMemoryTiers) {
    members.optional_with(to_name(tier),
                          [&](JsonValue v) { return read_margin(v, limits.margins[tier]); });
  }
  return members.ignore({"note"}).finish();
}

}  // namespace

void describe_memory(JsonMembers& members, MemoryLimits& limits) {
  members.object(
      "reserved_memory",
      [&](JsonMembers& inner) {
        for (const MemoryTier tier : kMemoryTiers) {
          describe_sizes(inner, to_name(tier), limits.reserved_bytes[tier],
                         "Bytes of each rank, or one number per rank.");
        }
        inner.ignore({"note"});
      },
      "Memory that tables do not get.");
  const auto margins = [] {
    JsonShape by_tier = json::object({});
    for (const MemoryTier tier : kMemoryTiers)
      by_tier.members.push_back({std::string(to_name(tier)), margin_shape()});
    by_tier.members.push_back({"note", json::not_read()});
    return json::one_of({margin_shape(), std::move(by_tier)})
        .says("Part of the memory that stays free.");
  };
  members.optional_with(
      "memory_margin", [&](JsonValue v) { return read_margins(v, limits); }, margins);
}

void describe(JsonMembers& members, Calibration& calibration) {
  members
      .optional_with(
          "kernels", [&](JsonValue v) { return read_kernels(v, calibration.kernels); },
          [] { return kernel_shape().or_null().says("Measured factors by compute kernel."); })
      .object("ranks",
              [&](JsonMembers& inner) {
                inner.optional("time", calibration.rank_time, "Multiplies all times, one per rank.")
                    .ignore({"note"});
              })
      .ignore({"note"});
}

}  // namespace shardwright
