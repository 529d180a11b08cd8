// The logical grid of devices that tensors are sharded over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace shardwright::operators {

// The description of a mesh. If empty, `alpha` and `beta` are 1 on every axis, and `device_ids` are
// 0, 1, 2, ...
struct DeviceMeshSpec {
  std::vector<std::uint32_t> shape;       // devices along each axis
  std::vector<double> alpha;              // latency of a collective along the axis
  std::vector<double> beta;               // inverse bandwidth along the axis, per element
  std::vector<std::uint32_t> device_ids;  // row-major
};

// An immutable mesh of one to eight axes.
// Thread safety: const members may be called from any thread.
class DeviceMesh {
 public:
  static constexpr std::size_t kMaxAxes = 8;

  // Errors (kInvalidInput, with the place below the mesh): no axis or more than eight, an axis
  // without devices, lists of the wrong length, alpha or beta negative or above 1e200, device ids
  // that repeat, more than 2^31 devices.
  static Result<std::shared_ptr<const DeviceMesh>> make(DeviceMeshSpec spec);

  std::size_t num_axes() const { return spec_.shape.size(); }
  std::uint32_t size(std::size_t axis) const { return spec_.shape[axis]; }
  double alpha(std::size_t axis) const { return spec_.alpha[axis]; }
  double beta(std::size_t axis) const { return spec_.beta[axis]; }
  std::uint32_t num_devices() const { return num_devices_; }
  // Of the mesh flattened to one axis: the largest alpha and beta.
  double flat_alpha() const { return flat_alpha_; }
  double flat_beta() const { return flat_beta_; }
  // With alpha and beta filled in; `device_ids` as given.
  const DeviceMeshSpec& spec() const { return spec_; }
  // The number of devices along all `axes` together (bit a = axis a).
  std::uint32_t devices_along(std::uint8_t axes) const { return devices_along_[axes]; }

 private:
  explicit DeviceMesh(DeviceMeshSpec spec);

  DeviceMeshSpec spec_;
  std::uint32_t num_devices_ = 1;
  double flat_alpha_ = 0;
  double flat_beta_ = 0;
  std::vector<std::uint32_t> devices_along_;  // by set of axes
};

}  // namespace shardwright::operators
