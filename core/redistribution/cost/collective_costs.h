// What a collective along one axis of a mesh costs: the interface that every cost model implements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/redistribution/placement/mesh_shape.h"

namespace shardwright::redistribution {

enum class Collective { kAllGather, kReduceScatter, kAllReduce, kAllToAll };
inline constexpr std::size_t kNumCollectives = 4;

// "all-gather", as error messages show it.
const char* name_of(Collective collective);

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

  // The same along several axes that act as one axis of all their devices. Infinite unless the model
  // knows such groups. Preconditions: at least two axes, each once.
  virtual double microseconds_over(Collective collective, const Axes& axes, double bytes) const;

  // The time in which every device sends `bytes` to another one that differs from it along `axes`,
  // and receives as many. Infinite unless the model knows messages.
  virtual double permute_microseconds(const Axes& axes, double bytes) const;

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
