// What a collective along one axis of a mesh costs: the interface that every cost model implements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/status.h"

namespace shardwright::redistribution {

enum class Collective { kAllGather, kReduceScatter, kAllReduce, kAllToAll };
inline constexpr std::size_t kNumCollectives = 4;

// "all-gather", as error messages show it.
const char* name_of(Collective collective);

// Devices along each axis. The last axis is the innermost: its devices are closest to each other.
using MeshShape = std::vector<std::int64_t>;

// Errors (kInvalidInput at `/mesh`): no axis, an axis without devices, more than 2^31 devices.
Status check_mesh(const MeshShape& mesh);

// Returns true if the axis and those inside it have more devices than a host. Preconditions: a
// checked mesh, axis < mesh.size().
bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host);

// The times of collectives on a mesh.
// Thread safety: const members may be called from any thread.
class CollectiveCosts {
 public:
  virtual ~CollectiveCosts() = default;

  // The time in microseconds of a collective along `axis`, where all groups of devices along the
  // axis work at once. `bytes` is what one device holds when it holds most: after an all-gather,
  // before the other collectives. Infinite if the collective cannot be done.
  // Preconditions: axis < mesh().size(), 0 <= bytes < 2^62. Pure: the same arguments give the same
  // value. Does not allocate.
  virtual double microseconds(Collective collective, std::size_t axis, double bytes) const = 0;

  const MeshShape& mesh() const { return mesh_; }

 protected:
  explicit CollectiveCosts(MeshShape mesh) : mesh_(std::move(mesh)) {}
  CollectiveCosts(const CollectiveCosts&) = default;
  CollectiveCosts(CollectiveCosts&&) = default;
  CollectiveCosts& operator=(const CollectiveCosts&) = default;
  CollectiveCosts& operator=(CollectiveCosts&&) = default;

 private:
  MeshShape mesh_;
};

}  // namespace shardwright::redistribution
