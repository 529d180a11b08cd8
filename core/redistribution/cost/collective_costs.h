// The interface of cost models for collectives along one axis of a mesh, and two such models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {

enum class Collective { kAllGather, kReduceScatter, kAllReduce, kAllToAll };
inline constexpr std::size_t kNumCollectives = 4;

// Returns a name such as "all-gather" for error messages.
const char* name_of(Collective collective);

// The times of collectives on a mesh.
// Thread safety: const members may be called from any thread.
class CollectiveCosts {
 public:
  virtual ~CollectiveCosts() = default;

  // Returns the time in microseconds of a collective along `axis`, where all groups of devices
  // along the axis work at the same time. `bytes` is the larger of a device's tensors before and
  // after: the result of an all-gather, or the input of another collective. Returns infinity if the
  // collective is impossible. Preconditions: axis < mesh().size(), 0 <= bytes < 2^62. Pure: the
  // same arguments give the same value. Does not allocate.
  virtual double microseconds(Collective collective, std::size_t axis, double bytes) const = 0;

  // The same for several axes that act as one axis of all their devices. Returns infinity unless
  // the model supports such groups. Preconditions: at least two axes, no axis twice.
  virtual double microseconds_over(Collective collective, const Axes& axes, double bytes) const;

  // Returns the time in microseconds of a permutation in which every device sends `bytes` to a
  // device that differs along `axes`, and receives as many. Infinite unless the model supports
  // this.
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

// The link between neighbours on an axis. Here a GB is 2^30 bytes, since torch divides bytes by
// 2^30 before it divides by the bandwidth.
struct DTensorLink {
  double latency_us;
  double bandwidth_gb_per_s;
};

// Returns the link of every axis. An axis is between hosts if it and the axes inside it have more
// devices than a host. Preconditions: those that DTensorCosts::make checks.
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, MeshTopoInfo.
std::vector<DTensorLink> dtensor_links(const MeshShape& mesh, std::int64_t devices_per_host);

// Returns (6.6 + hops * latency) + bytes / 2^30 * hops / devices / bandwidth * 10^6 microseconds:
// the time of `hops` steps in a ring, each of which moves `bytes` / `devices` bytes.
double dtensor_ring_us(const DTensorLink& link, std::int64_t devices, std::int64_t hops,
                       double bytes);

// DTensor's model: every collective runs on a ring of n devices in n - 1 hops, an all-reduce in 2
// (n - 1). An all-to-all costs 1 us more than an all-gather with a result of `bytes`. `bytes` may
// have a fraction: torch counts in units of 2^30 bytes and never rounds.
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py.
// Thread safety: const members may be called from any thread.
class DTensorCosts final : public CollectiveCosts {
 public:
  // `devices_per_host`: torch reads this number from its own machine (device_count(); 1 for CPUs).
  // Errors (kInvalidInput): those of check_mesh; `/devices_per_host` below 1.
  static Result<DTensorCosts> make(MeshShape mesh, std::int64_t devices_per_host);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;

 private:
  DTensorCosts(MeshShape mesh, std::int64_t devices_per_host);

  std::vector<DTensorLink> links_;  // by axis
};

// AutoParallel's model without an NCCL configuration: DTensor's rings, where an all-to-all costs
// five times as much as an all-gather. `bytes` is truncated to whole bytes, as in the source.
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/collective_runtime_estimation.py, collective_comm_cost.
// Thread safety: const members may be called from any thread.
class FlatCosts final : public CollectiveCosts {
 public:
  // For `devices_per_host` and errors, see DTensorCosts::make.
  static Result<FlatCosts> make(MeshShape mesh, std::int64_t devices_per_host);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;

 private:
  FlatCosts(MeshShape mesh, std::int64_t devices_per_host);

  std::vector<DTensorLink> links_;  // by axis
};

}  // namespace shardwright::redistribution
