#include "core/embedding/problem/calibration.h"

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
    // In the file, one factor for all widths is a number instead of a list.
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

}  // namespace shardwright::embedding
