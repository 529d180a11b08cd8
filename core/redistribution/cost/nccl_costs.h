// The time of NCCL's algorithms and protocols, as NCCL's tuning estimates it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/cost/nccl_tables.h"

namespace shardwright::redistribution::nccl {

// The ranks of one communicator and the machines that they are on.
// Thread safety: a value.
struct Group {
  static Group make(const NcclConfig& config, const NcclAxis& axis);

  // Whether it has switches that reduce and multicast, which NVLS uses.
  bool has_nvls() const {
    return config.has_nvswitch && config.architecture != GpuArchitecture::kAmpere;
  }

  NcclConfig config;
  NcclAxis axis;
  SizeTable ring_ramp;  // fraction of a ring's bandwidth that is reached, by size per GPU
};

struct Method {
  Algorithm algorithm;
  Protocol protocol;
};

// The collectives below are those that NCCL tunes: all but an all-to-all.

// The bandwidth of the collective for large messages; 0 if the method does not support it.
double bandwidth_gb_per_s(const Group& group, Collective collective, Method method);
double latency_us(const Group& group, Collective collective, Method method);
// The latency of `steps` steps in a ring, of which `steps_between` cross nodes.
double ring_latency_us(const Group& group, Protocol protocol, std::int64_t steps,
                       std::int64_t steps_between);

// The time with all size corrections; infinite if the method does not support the collective.
double method_us(const Group& group, Collective collective, Method method, std::int64_t bytes);
// The shortest time of a ring over all protocols.
double ring_us(const Group& group, Collective collective, std::int64_t bytes);
// The shortest time of all methods that NCCL considers for the group.
double tuned_us(const Group& group, Collective collective, std::int64_t bytes);

// Source: AutoParallel, autoparallel/cost_models/nccl_cost_model.py, nccl_all_to_all_cost.
double all_to_all_us(const Group& group, std::int64_t bytes);

// Times of groups with NVLS. Preconditions: a collective that NCCL tunes, group.has_nvls().

// On one node.
double one_node_us(const Group& group, Collective collective, std::int64_t bytes);

// On several nodes. None if no table has this number of nodes and of ranks per node.
std::optional<double> several_nodes_us(const Group& group, Collective collective,
                                       std::int64_t bytes);

}  // namespace shardwright::redistribution::nccl

namespace shardwright::redistribution {

// NCCL's tuning for A100, and measured latencies and bandwidths for machines with NVSwitch from
// H100 on. `bytes` is truncated, since the source counts whole bytes. An axis of one device costs
// the latency of the collective, as in the source, which divides by zero for a ring of one rank.
// Several axes form one communicator of all their ranks. AutoParallel has no price for such
// communicators; here the same formulas apply to the ranks and nodes of nccl_group(). Times along
// one axis are those of the source. Point-to-point messages are not supported.
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
  std::vector<nccl::Group> joint_;   // by set of axes, one bit each; empty if there are too many
};

}  // namespace shardwright::redistribution

namespace shardwright::redistribution::nccl {}  // namespace shardwright::redistribution::nccl
