#include "runtime/io/embedding/problem/machine_json.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/nearest_name.h"
#include "runtime/io/json/json_number.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright {
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
