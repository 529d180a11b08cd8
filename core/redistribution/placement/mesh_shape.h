// The logical grid of devices: how many there are along each axis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/container/static_vector.hpp>

#include "core/status.h"

namespace shardwright::redistribution {

// A placement has one byte per axis, in one word.
inline constexpr std::size_t kMaxMeshAxes = 8;

// Devices along each axis. The last axis is the innermost: its devices are closest to each other,
// and a device's number is the row-major index of its coordinates.
using MeshShape = std::vector<std::int64_t>;

// Some axes of a mesh, in an order that matters.
using Axes = boost::container::static_vector<std::uint8_t, kMaxMeshAxes>;

// Errors (kInvalidInput at `/mesh`): no axis, an axis without devices, more than 2^31 devices.
Status check_mesh(const MeshShape& mesh);

// The devices of all axes. Precondition: a checked mesh.
std::int64_t num_devices(const MeshShape& mesh);
// The devices along all of `axes` together. Precondition: the mesh has them.
std::int64_t devices_along(const MeshShape& mesh, const Axes& axes);

// The coordinate along `axis` of a device. Preconditions: 0 <= device < num_devices(mesh).
std::int64_t coordinate(const MeshShape& mesh, std::int64_t device, std::size_t axis);
// How much a device's number grows by one step along `axis`.
std::int64_t stride(const MeshShape& mesh, std::size_t axis);

// The devices that differ from `device` only along `axes`, itself included, by ascending coordinates
// with the first axis the slowest.
std::vector<std::int64_t> devices_through(const MeshShape& mesh, const Axes& axes,
                                          std::int64_t device);

// Returns true if the axis and those inside it have more devices than a host. Preconditions: a
// checked mesh, axis < mesh.size().
bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host);

}  // namespace shardwright::redistribution
