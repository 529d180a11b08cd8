// Costs of collectives from the latency and bandwidth of the links along each axis.
#pragma once

#include <vector>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

// The link from a device to its neighbour along an axis, in one direction. GB = 10^9 bytes.
struct AxisLink {
  double latency_us = 0;
  double bandwidth_gb_per_s = 0;
};

// Returns one link per axis: `between_hosts` if the axis and the axes inside it have more devices
// than a host, otherwise `within_host`. Precondition: devices_per_host >= 1.
std::vector<AxisLink> links_of_hosts(const MeshShape& mesh, std::int64_t devices_per_host,
                                     const AxisLink& within_host, const AxisLink& between_hosts);

// Rings on the links of a user's machine. With n devices, a = latency, b = bandwidth:
//
//   all-gather, reduce-scatter, all-to-all   (n - 1) a + bytes (n - 1) / n / b
//   all-reduce                               twice that
//
// A device sends n - 1 parts of bytes / n, one after the other; an all-reduce is a reduce-scatter
// followed by an all-gather. An axis of one device costs nothing.
// Source: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
// MPICH", 2005, sections 3.1 (ring) and 4.
// Thread safety: const members may be called from any thread.
class TopologyCosts final : public CollectiveCosts {
 public:
  // `links`: one per axis. Errors (kInvalidInput): those of check_mesh; at `/links`, a number of
  // links that differs from the number of axes, latencies that are negative, bandwidths that are
  // not positive, numbers that are not finite.
  static Result<TopologyCosts> make(MeshShape mesh, std::vector<AxisLink> links);

  double microseconds(Collective collective, std::size_t axis, double bytes) const override;
  // A ring over all devices, with the largest latency and the smallest bandwidth of the links.
  double microseconds_over(Collective collective, const Axes& axes, double bytes) const override;
  // One message at the largest latency and the smallest bandwidth of the links.
  double permute_microseconds(const Axes& axes, double bytes) const override;

 private:
  TopologyCosts(MeshShape mesh, std::vector<AxisLink> links);
  AxisLink slowest_link(const Axes& axes) const;

  std::vector<AxisLink> links_;
};

}  // namespace shardwright::redistribution
