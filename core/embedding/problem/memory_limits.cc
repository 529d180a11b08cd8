#include "core/embedding/problem/memory_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace shardwright::embedding {
namespace {

constexpr double kMaxFactor = 1e6;

Status check_factor(double factor, const std::string& where) {
  if (std::isfinite(factor) && factor > 0 && factor <= kMaxFactor) return {};
  return invalid_input(where, "a measured factor must be above 0 and at most 1e6");
}

Status check_factors(const FactorByDim& factors, const std::string& where, const char* key) {
  for (std::size_t i = 0; i < factors.points.size(); ++i) {
    // In a problem file, a number stands for a list of one factor for all widths.
    const bool number = factors.points.size() == 1 && factors.points[i].dim == 0;
    const std::string at = number ? where : where + "/" + std::to_string(i);
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_factor(factors.points[i].factor, number ? at : at + "/" + key));
    if (factors.points[i].dim < 0) {
      return invalid_input(at + "/dim", "must not be negative");
    }
    if (i > 0 && factors.points[i].dim <= factors.points[i - 1].dim) {
      return invalid_input(at + "/dim", "must be above the one before, " +
                                            std::to_string(factors.points[i - 1].dim));
    }
  }
  return {};
}

}  // namespace

double FactorByDim::at(std::int64_t columns) const {
  if (points.empty()) return 1;
  const auto above = std::upper_bound(
      points.begin(), points.end(), columns,
      [](std::int64_t value, const FactorAtDim& point) { return value < point.dim; });
  if (above == points.begin()) return points.front().factor;
  const FactorAtDim& low = *(above - 1);
  if (above == points.end() || low.dim == columns) return low.factor;
  const double share =
      static_cast<double>(columns - low.dim) / static_cast<double>(above->dim - low.dim);
  return low.factor + (above->factor - low.factor) * share;
}

const KernelCalibration* Calibration::find(ComputeKernel kernel) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const auto& known) { return known.kernel == kernel; });
  return found == kernels.end() ? nullptr : &*found;
}

Perf calibrated(const Perf& perf, const KernelCalibration& kernel, std::int64_t columns) {
  const double time = kernel.time.at(columns);
  const double comms = kernel.comms.at(columns);
  return {
      Milliseconds(perf.fwd_compute.value() * time), Milliseconds(perf.fwd_comms.value() * comms),
      Milliseconds(perf.bwd_compute.value() * time), Milliseconds(perf.bwd_comms.value() * comms),
      Milliseconds(perf.prefetch_compute.value() * time)};
}

Status check(const Calibration& calibration, std::uint32_t world_size) {
  for (const KernelCalibration& kernel : calibration.kernels) {
    const std::string where = "/calibration/kernels/" + std::string(to_name(kernel.kernel));
    if (calibration.find(kernel.kernel) != &kernel) {
      return invalid_input(where, "the kernel is calibrated twice");
    }
    SHARDWRIGHT_RETURN_IF_ERROR(check_factors(kernel.time, where + "/time", "time"));
    SHARDWRIGHT_RETURN_IF_ERROR(check_factors(kernel.comms, where + "/comms", "comms"));
    SHARDWRIGHT_RETURN_IF_ERROR(check_factor(kernel.memory, where + "/memory"));
  }
  const std::vector<double>& ranks = calibration.rank_time;
  if (!ranks.empty() && ranks.size() != world_size) {
    return invalid_input("/calibration/ranks/time",
                         "must give one factor per rank: " + std::to_string(world_size) +
                             " ranks, " + std::to_string(ranks.size()) + " factors");
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_factor(ranks[i], "/calibration/ranks/time/" + std::to_string(i)));
  }
  return {};
}

namespace {

std::int64_t of_rank(const std::vector<std::int64_t>& bytes, std::uint32_t rank) {
  return bytes.empty() ? 0 : bytes[bytes.size() == 1 ? 0 : rank];
}

Bytes margin_of(const MemoryMargin& margin, Bytes left) {
  if (left <= Bytes(0)) return Bytes(0);
  const double share = std::ceil(margin.fraction * static_cast<double>(left.value()));
  return std::min(left, Bytes(margin.bytes + static_cast<std::int64_t>(share)));
}

Status check_reserved(const std::vector<std::int64_t>& bytes, const Topology& topology,
                      MemoryTier tier) {
  const std::string where = "/reserved_memory/" + std::string(to_name(tier));
  const std::size_t world = topology.world_size();
  if (bytes.size() > 1 && bytes.size() != world) {
    return invalid_input(where, "must be one size, or one per rank: " + std::to_string(world) +
                                    " ranks, " + std::to_string(bytes.size()) + " sizes");
  }
  for (std::uint32_t rank = 0; rank < world && !bytes.empty(); ++rank) {
    const std::int64_t size = of_rank(bytes, rank);
    const std::int64_t has = topology.storage()[rank][tier].value();
    const std::string at = bytes.size() == 1 ? where : where + "/" + std::to_string(rank);
    if (size < 0) return invalid_input(at, "must not be negative");
    if (size > has) {
      return invalid_input(at, "sets aside " + std::to_string(size) + " bytes, but rank " +
                                   std::to_string(rank) + " has " + std::to_string(has));
    }
  }
  return {};
}

Status check_margin(const MemoryMargin& margin, MemoryTier tier) {
  const std::string where = "/memory_margin/" + std::string(to_name(tier));
  if (margin.bytes < 0 || margin.bytes > kMaxRankBytes) {
    return invalid_input(where, "a margin in bytes must be between 1 and 2^53");
  }
  if (!(margin.fraction >= 0 && margin.fraction < 1)) {
    return invalid_input(where, "a margin is a fraction of at least 0 and below 1, or whole bytes");
  }
  return {};
}

}  // namespace

bool MemoryLimits::any_reserved() const {
  return std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(),
                     [&](MemoryTier tier) { return !reserved_bytes[tier].empty(); });
}

Storage MemoryLimits::reserved(std::uint32_t rank) const {
  Storage reserved;
  for (const MemoryTier tier : kMemoryTiers)
    reserved[tier] = Bytes(of_rank(reserved_bytes[tier], rank));
  return reserved;
}

Storage MemoryLimits::margin(Storage left) const {
  Storage margin;
  for (const MemoryTier tier : kMemoryTiers)
    margin[tier] = margin_of(margins[tier], left[tier]);
  return margin;
}

Status check(const MemoryLimits& limits, const Topology& topology) {
  for (const MemoryTier tier : kMemoryTiers)
    SHARDWRIGHT_RETURN_IF_ERROR(check_reserved(limits.reserved_bytes[tier], topology, tier));
  for (const MemoryTier tier : kMemoryTiers)
    SHARDWRIGHT_RETURN_IF_ERROR(check_margin(limits.margins[tier], tier));
  return {};
}

}  // namespace shardwright::embedding
