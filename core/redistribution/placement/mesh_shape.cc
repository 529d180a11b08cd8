#include "core/redistribution/placement/mesh_shape.h"

#include <string>

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxDevices = std::int64_t{1} << 31;

}  // namespace

Status check_mesh(const MeshShape& mesh) {
  if (mesh.empty()) return invalid_input("/mesh", "a mesh has at least one axis");
  std::int64_t devices = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] < 1) {
      return invalid_input("/mesh/" + std::to_string(axis), "the axis has no device");
    }
    if (mesh[axis] > kMaxDevices / devices) {
      return invalid_input("/mesh", "more than 2^31 devices");
    }
    devices *= mesh[axis];
  }
  return {};
}

std::int64_t num_devices(const MeshShape& mesh) {
  std::int64_t devices = 1;
  for (const std::int64_t extent : mesh)
    devices *= extent;
  return devices;
}

std::int64_t devices_along(const MeshShape& mesh, const Axes& axes) {
  std::int64_t devices = 1;
  for (const std::uint8_t axis : axes)
    devices *= mesh[axis];
  return devices;
}

std::int64_t stride(const MeshShape& mesh, std::size_t axis) {
  std::int64_t stride = 1;
  for (std::size_t inside = axis + 1; inside < mesh.size(); ++inside)
    stride *= mesh[inside];
  return stride;
}

std::int64_t coordinate(const MeshShape& mesh, std::int64_t device, std::size_t axis) {
  return device / stride(mesh, axis) % mesh[axis];
}

std::vector<std::int64_t> devices_through(const MeshShape& mesh, const Axes& axes,
                                          std::int64_t device) {
  for (const std::uint8_t axis : axes)
    device -= coordinate(mesh, device, axis) * stride(mesh, axis);
  std::vector<std::int64_t> devices{device};
  for (const std::uint8_t axis : axes) {
    std::vector<std::int64_t> more;
    more.reserve(devices.size() * static_cast<std::size_t>(mesh[axis]));
    for (const std::int64_t first : devices) {
      for (std::int64_t i = 0; i < mesh[axis]; ++i)
        more.push_back(first + i * stride(mesh, axis));
    }
    devices = std::move(more);
  }
  return devices;
}

bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host) {
  std::int64_t devices = 1;
  for (std::size_t inside = axis; inside < mesh.size(); ++inside)
    devices *= mesh[inside];
  return devices > devices_per_host;
}

}  // namespace shardwright::redistribution
