// The time of NCCL's algorithms and protocols, as NCCL's tuning code estimates it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/cost/nccl_tables.h"

namespace shardwright::redistribution::nccl {

// The ranks of one communicator, and the nodes to which they belong.
// Thread safety: a value.
struct Group {
  static Group make(const NcclConfig& config, const NcclAxis& axis);

  // Returns true if the switches can reduce and multicast (NVLink SHARP), which NVLS uses.
  bool has_nvls() const {
    return config.has_nvswitch && config.architecture != GpuArchitecture::kAmpere;
  }

  NcclConfig config;
  NcclAxis axis;
  SizeTable ring_ramp;  // reached fraction of a ring's bandwidth, by size per GPU
};

struct Method {
  Algorithm algorithm;
  Protocol protocol;
};

// The following functions are for the collectives that NCCL tunes: all except the all-to-all.

// Returns the bandwidth for large messages; 0 if the method does not support the collective.
double bandwidth_gb_per_s(const Group& group, Collective collective, Method method);
double latency_us(const Group& group, Collective collective, Method method);
// Returns the latency of `steps` steps in a ring, of which `steps_between` are between nodes.
double ring_latency_us(const Group& group, Protocol protocol, std::int64_t steps,
                       std::int64_t steps_between);

// Returns the time with all size corrections; infinite if the collective is not supported.
double method_us(const Group& group, Collective collective, Method method, std::int64_t bytes);
// Returns the shortest time of a ring over all protocols.
double ring_us(const Group& group, Collective collective, std::int64_t bytes);
// Returns the shortest time over all methods that NCCL considers for the group.
double tuned_us(const Group& group, Collective collective, std::int64_t bytes);

// Source: AutoParallel, autoparallel/cost_models/nccl_cost_model.py, nccl_all_to_all_cost.
double all_to_all_us(const Group& group, std::int64_t bytes);

// Times of groups with NVLS. Preconditions: NCCL tunes the collective; group.has_nvls().

// For a group on one node.
double one_node_us(const Group& group, Collective collective, std::int64_t bytes);

// For a group on several nodes. Returns nullopt if no table has this number of nodes and ranks.
std::optional<double> several_nodes_us(const Group& group, Collective collective,
                                       std::int64_t bytes);

}  // namespace shardwright::redistribution::nccl

namespace shardwright::redistribution {

// NCCL's tuning for A100, and measured latencies and bandwidths for machines with NVSwitch from
// H100 on. `bytes` is truncated, because AutoParallel counts whole bytes. An axis of one device
// costs the latency of the collective, as in AutoParallel, which divides by zero for a ring of one
// rank. Several axes form one communicator of all their ranks. AutoParallel has no price for such
// communicators; this class applies the same formulas to the ranks and nodes of nccl_group(). Times
// along one axis equal AutoParallel's. Point-to-point messages are not supported.
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/nccl_cost_model.py.
// Thread safety: const members may be called from any thread.
class NcclCosts final : public CollectiveCosts {
 public:
  // Errors (kInvalidInput): those of check_mesh, those of check_nccl_config.
  static Result<NcclCosts> make(MeshShape mesh, const NcclConfig& config);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;
  // Infinite on a mesh of more than kMaxMeshAxes axes.
  double microseconds_over(Collective collective, const Axes& axes, double bytes) const override;

 private:
  NcclCosts(MeshShape mesh, const NcclConfig& config);

  std::vector<nccl::Group> groups_;  // by axis
  std::vector<nccl::Group> joint_;   // by set of axes as bits; empty if axes are too many
};

}  // namespace shardwright::redistribution

namespace shardwright::redistribution::nccl {}  // namespace shardwright::redistribution::nccl
