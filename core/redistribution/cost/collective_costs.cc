#include "core/redistribution/cost/collective_costs.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/units.h"

namespace shardwright::redistribution {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllToAll:
      return "all-to-all";
  }
  return "";
}

double CollectiveCosts::microseconds_over(Collective /*collective*/, const Axes& /*axes*/,
                                          double /*bytes*/) const {
  return std::numeric_limits<double>::infinity();
}

double CollectiveCosts::permute_microseconds(const Axes& /*axes*/, double /*bytes*/) const {
  return std::numeric_limits<double>::infinity();
}

namespace {

// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, for Ampere and Hopper.
constexpr double kBaseLatencyUs = 6.6;
constexpr DTensorLink kWithinHost = {0.6, 87.7};
constexpr double kBetweenHostsLatencyUs = 2.7;
constexpr double kBetweenHostsShare = 0.22;  // fraction of the bandwidth within a host
constexpr double kMicrosecondsPerSecond = 1e6;
// Makes an all-gather followed by a local split cheaper than an all-to-all.
constexpr double kAllToAllPenaltyUs = 1.0;

}  // namespace

std::vector<DTensorLink> dtensor_links(const MeshShape& mesh, std::int64_t devices_per_host) {
  std::vector<DTensorLink> links(mesh.size(), kWithinHost);
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (!leaves_host(mesh, axis, devices_per_host)) continue;
    links[axis].latency_us = kBetweenHostsLatencyUs;
    links[axis].bandwidth_gb_per_s *= kBetweenHostsShare;
  }
  return links;
}

double dtensor_ring_us(const DTensorLink& link, std::int64_t devices, std::int64_t hops,
                       double bytes) {
  const double latency_us = kBaseLatencyUs + static_cast<double>(hops) * link.latency_us;
  const double gb = bytes / static_cast<double>(kGibibyte);
  const double seconds =
      (gb * static_cast<double>(hops) / static_cast<double>(devices)) / link.bandwidth_gb_per_s;
  return latency_us + seconds * kMicrosecondsPerSecond;
}

DTensorCosts::DTensorCosts(MeshShape mesh, std::int64_t devices_per_host)
    : CollectiveCosts(std::move(mesh)),
      links_(dtensor_links(CollectiveCosts::mesh(), devices_per_host)) {}

Result<DTensorCosts> DTensorCosts::make(MeshShape mesh, std::int64_t devices_per_host) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  if (devices_per_host < 1) return invalid_input("/devices_per_host", "must be at least 1");
  return DTensorCosts(std::move(mesh), devices_per_host);
}

double DTensorCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < links_.size());
  const std::int64_t devices = mesh()[axis];
  const std::int64_t hops = devices - 1;
  switch (collective) {
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return dtensor_ring_us(links_[axis], devices, hops, bytes);
    case Collective::kAllReduce:
      return dtensor_ring_us(links_[axis], devices, 2 * hops, bytes);
    case Collective::kAllToAll:
      break;
  }
  return dtensor_ring_us(links_[axis], devices, hops, bytes) + kAllToAllPenaltyUs;
}

namespace {

// The time of an all-to-all divided by the time of an all-gather. Source: all_to_all_cost.
constexpr double kAllToAllFactor = 5;

}  // namespace

FlatCosts::FlatCosts(MeshShape mesh, std::int64_t devices_per_host)
    : CollectiveCosts(std::move(mesh)),
      links_(dtensor_links(CollectiveCosts::mesh(), devices_per_host)) {}

Result<FlatCosts> FlatCosts::make(MeshShape mesh, std::int64_t devices_per_host) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  if (devices_per_host < 1) return invalid_input("/devices_per_host", "must be at least 1");
  return FlatCosts(std::move(mesh), devices_per_host);
}

double FlatCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < links_.size());
  const std::int64_t devices = mesh()[axis];
  const std::int64_t hops = collective == Collective::kAllReduce ? 2 * (devices - 1) : devices - 1;
  const double ring_us = dtensor_ring_us(links_[axis], devices, hops, std::trunc(bytes));
  return collective == Collective::kAllToAll ? ring_us * kAllToAllFactor : ring_us;
}

}  // namespace shardwright::redistribution
