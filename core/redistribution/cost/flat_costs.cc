#include "core/redistribution/cost/flat_costs.h"

#include <cmath>
#include <utility>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

// An all-to-all in units of an all-gather. Source: all_to_all_cost, which calls it a hack.
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
