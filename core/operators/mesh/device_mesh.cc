#include "core/operators/mesh/device_mesh.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardwright::operators {
namespace {

constexpr std::uint64_t kMaxDevices = std::uint64_t{1} << 31;
// The cost of any path over a tensor of 2^48 elements stays finite below this.
constexpr double kMaxRate = 1e200;

std::string element(const char* list, std::size_t i) {
  return "/" + std::string(list) + "/" + std::to_string(i);
}

Status check_shape(const std::vector<std::uint32_t>& shape) {
  if (shape.empty()) return invalid_input("/shape", "a mesh has at least one axis");
  if (shape.size() > DeviceMesh::kMaxAxes) {
    return invalid_input("/shape", "a mesh has at most " + std::to_string(DeviceMesh::kMaxAxes) +
                                       " axes, this one has " + std::to_string(shape.size()));
  }
  std::uint64_t devices = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) return invalid_input(element("shape", axis), "the axis has no device");
    devices *= shape[axis];
    if (devices > kMaxDevices) return invalid_input("/shape", "more than 2^31 devices");
  }
  return {};
}

Status check_rates(const char* name, const std::vector<double>& rates, std::size_t num_axes) {
  if (rates.size() != num_axes) {
    return invalid_input("/" + std::string(name), std::to_string(rates.size()) +
                                                      " entries for a mesh of " +
                                                      std::to_string(num_axes) + " axes");
  }
  for (std::size_t axis = 0; axis < rates.size(); ++axis) {
    if (!std::isfinite(rates[axis]) || rates[axis] < 0) {
      return invalid_input(element(name, axis), "must be a finite number that is not negative");
    }
    if (rates[axis] > kMaxRate) return invalid_input(element(name, axis), "must be at most 1e200");
  }
  return {};
}

Status check_device_ids(const std::vector<std::uint32_t>& ids, std::uint64_t num_devices) {
  if (ids.empty()) return {};
  if (ids.size() != num_devices) {
    return invalid_input("/device_ids", std::to_string(ids.size()) + " ids for " +
                                            std::to_string(num_devices) + " devices");
  }
  std::vector<std::uint32_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return invalid_input("/device_ids", "device " + std::to_string(*twice) + " occurs twice");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const DeviceMesh>> DeviceMesh::make(DeviceMeshSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_shape(spec.shape));
  const std::size_t num_axes = spec.shape.size();
  if (spec.alpha.empty()) spec.alpha.assign(num_axes, 1.0);
  if (spec.beta.empty()) spec.beta.assign(num_axes, 1.0);
  SHARDWRIGHT_RETURN_IF_ERROR(check_rates("alpha", spec.alpha, num_axes));
  SHARDWRIGHT_RETURN_IF_ERROR(check_rates("beta", spec.beta, num_axes));
  std::uint64_t num_devices = 1;
  for (const std::uint32_t size : spec.shape)
    num_devices *= size;
  SHARDWRIGHT_RETURN_IF_ERROR(check_device_ids(spec.device_ids, num_devices));
  return std::shared_ptr<const DeviceMesh>(new DeviceMesh(std::move(spec)));
}

DeviceMesh::DeviceMesh(DeviceMeshSpec spec)
    : spec_(std::move(spec)), devices_along_(std::size_t{1} << spec_.shape.size(), 1) {
  for (std::size_t axis = 0; axis < num_axes(); ++axis) {
    flat_alpha_ = std::max(flat_alpha_, spec_.alpha[axis]);
    flat_beta_ = std::max(flat_beta_, spec_.beta[axis]);
    const std::size_t bit = std::size_t{1} << axis;
    for (std::size_t axes = bit; axes < 2 * bit; ++axes)
      devices_along_[axes] = devices_along_[axes - bit] * spec_.shape[axis];
  }
  num_devices_ = devices_along_.back();
}

}  // namespace shardwright::operators
