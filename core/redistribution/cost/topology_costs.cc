#include "core/redistribution/cost/topology_costs.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

constexpr double kBytesPerGbUs = 1e3;  // bytes per microsecond of one GB/s

double ring_us(Collective collective, const AxisLink& link, double devices, double bytes) {
  const double us = (devices - 1) * link.latency_us +
                    bytes * (devices - 1) / devices / (link.bandwidth_gb_per_s * kBytesPerGbUs);
  return collective == Collective::kAllReduce ? 2 * us : us;
}

}  // namespace

std::vector<AxisLink> links_of_hosts(const MeshShape& mesh, std::int64_t devices_per_host,
                                     const AxisLink& within_host, const AxisLink& between_hosts) {
  std::vector<AxisLink> links(mesh.size());
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    links[axis] = leaves_host(mesh, axis, devices_per_host) ? between_hosts : within_host;
  return links;
}

TopologyCosts::TopologyCosts(MeshShape mesh, std::vector<AxisLink> links)
    : CollectiveCosts(std::move(mesh)), links_(std::move(links)) {}

Result<TopologyCosts> TopologyCosts::make(MeshShape mesh, std::vector<AxisLink> links) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  if (links.size() != mesh.size()) {
    return invalid_input("/links", std::to_string(links.size()) + " links for a mesh of " +
                                       std::to_string(mesh.size()) + " axes");
  }
  for (std::size_t axis = 0; axis < links.size(); ++axis) {
    const std::string where = "/links/" + std::to_string(axis);
    if (!std::isfinite(links[axis].latency_us) || links[axis].latency_us < 0) {
      return invalid_input(where + "/latency_us", "must be a finite number that is not negative");
    }
    if (!std::isfinite(links[axis].bandwidth_gb_per_s) || links[axis].bandwidth_gb_per_s <= 0) {
      return invalid_input(where + "/bandwidth_gb_per_s", "must be a finite number above 0");
    }
  }
  return TopologyCosts(std::move(mesh), std::move(links));
}

AxisLink TopologyCosts::slowest_link(const Axes& axes) const {
  AxisLink slowest = links_[axes.front()];
  for (const std::uint8_t axis : axes) {
    slowest.latency_us = std::max(slowest.latency_us, links_[axis].latency_us);
    slowest.bandwidth_gb_per_s =
        std::min(slowest.bandwidth_gb_per_s, links_[axis].bandwidth_gb_per_s);
  }
  return slowest;
}

double TopologyCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < links_.size());
  return ring_us(collective, links_[axis], static_cast<double>(mesh()[axis]), bytes);
}

double TopologyCosts::microseconds_over(Collective collective, const Axes& axes,
                                        double bytes) const {
  return ring_us(collective, slowest_link(axes), static_cast<double>(devices_along(mesh(), axes)),
                 bytes);
}

double TopologyCosts::permute_microseconds(const Axes& axes, double bytes) const {
  const AxisLink link = slowest_link(axes);
  return link.latency_us + bytes / (link.bandwidth_gb_per_s * kBytesPerGbUs);
}

}  // namespace shardwright::redistribution
