// AutoParallel's cost model of NCCL's collectives.
#pragma once

#include <vector>

#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"

namespace shardwright::redistribution {

// NCCL's tuning for A100, and measured latencies and bandwidths for what has NVSwitch from H100 on.
// A fraction of `bytes` is dropped, since the source counts whole bytes. An axis of one device has
// the latency of the collective, as in the source; it divides by zero for a ring of one rank, which
// here moves its bytes in no time.
// Several axes are one communicator of all their ranks, which AutoParallel does not price: the same
// formulas, for the ranks and nodes of nccl_group(). Times along one axis are those of the source.
// Messages between two ranks have no price.
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
