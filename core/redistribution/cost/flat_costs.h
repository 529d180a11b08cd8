// AutoParallel's default cost model of collectives.
#pragma once

#include "core/redistribution/cost/dtensor_costs.h"

namespace shardwright::redistribution {

// What AutoParallel uses where it knows no NCCL configuration: DTensor's rings, and five times such
// a ring for an all-to-all. A fraction of `bytes` is dropped, since the source counts whole bytes.
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/collective_runtime_estimation.py, collective_comm_cost.
// Thread safety: const members may be called from any thread.
class FlatCosts final : public CollectiveCosts {
 public:
  // `devices_per_host` and errors: as in DTensorCosts::make.
  static Result<FlatCosts> make(MeshShape mesh, std::int64_t devices_per_host);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;

 private:
  FlatCosts(MeshShape mesh, std::int64_t devices_per_host);

  std::vector<DTensorLink> links_;  // by axis
};

}  // namespace shardwright::redistribution
