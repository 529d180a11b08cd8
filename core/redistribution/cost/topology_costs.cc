#include "core/redistribution/cost/topology_costs.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

constexpr double kBytesPerGbUs = 1e3;  // bytes per microsecond of one GB/s

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

double TopologyCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < links_.size());
  const double devices = static_cast<double>(mesh()[axis]);
  const AxisLink& link = links_[axis];
  const double ring_us =
      (devices - 1) * link.latency_us +
      bytes * (devices - 1) / devices / (link.bandwidth_gb_per_s * kBytesPerGbUs);
  return collective == Collective::kAllReduce ? 2 * ring_us : ring_us;
}

}  // namespace shardwright::redistribution
