// PyTorch DTensor's own cost model of collectives.
#pragma once

#include <vector>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

// The link between neighbours on an axis. A GB is 2^30 bytes here: the source divides bytes by 2^30
// and the result by this number.
struct DTensorLink {
  double latency_us;
  double bandwidth_gb_per_s;
};

// The links of every axis. An axis is between hosts if it and the axes inside it have more devices
// than a host. Preconditions: as checked by DTensorCosts::make.
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, MeshTopoInfo.
std::vector<DTensorLink> dtensor_links(const MeshShape& mesh, std::int64_t devices_per_host);

// (6.6 + hops * latency) + bytes / 2^30 * hops / devices / bandwidth * 10^6: the time of `hops`
// steps in a ring that each move one part of `bytes` in `devices` parts.
double dtensor_ring_us(const DTensorLink& link, std::int64_t devices, std::int64_t hops,
                       double bytes);

// DTensor's model: everything is a ring, with n - 1 hops (all-reduce: 2 (n - 1)). An all-to-all
// costs an all-gather of `bytes`, which is what one device holds, and 1 more.
// `bytes` may have a fraction: the source counts in units of 2^30 bytes and never rounds.
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py.
// Thread safety: const members may be called from any thread.
class DTensorCosts final : public CollectiveCosts {
 public:
  // `devices_per_host`: torch reads it from the machine that it runs on (device_count(); 1 for
  // CPUs). Errors (kInvalidInput): those of check_mesh; `/devices_per_host` below 1.
  static Result<DTensorCosts> make(MeshShape mesh, std::int64_t devices_per_host);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;

 private:
  DTensorCosts(MeshShape mesh, std::int64_t devices_per_host);

  std::vector<DTensorLink> links_;  // by axis
};

}  // namespace shardwright::redistribution
