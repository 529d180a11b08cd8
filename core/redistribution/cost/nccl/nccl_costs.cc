#include "core/redistribution/cost/nccl/nccl_costs.h"

#include <optional>
#include <utility>

#include "core/check.h"
#include "core/redistribution/cost/nccl/all_to_all.h"
#include "core/redistribution/cost/nccl/nvswitch.h"

namespace shardwright::redistribution {

NcclCosts::NcclCosts(MeshShape mesh, const NcclConfig& config) : CollectiveCosts(std::move(mesh)) {
  for (std::size_t axis = 0; axis < this->mesh().size(); ++axis) {
    groups_.push_back(nccl::Group::make(config, this->mesh(), axis));
  }
}

Result<NcclCosts> NcclCosts::make(MeshShape mesh, const NcclConfig& config) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_nccl_config(config));
  return NcclCosts(std::move(mesh), config);
}

double NcclCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < groups_.size());
  const nccl::Group& group = groups_[axis];
  const std::int64_t whole_bytes = static_cast<std::int64_t>(bytes);
  if (collective == Collective::kAllToAll) return nccl::all_to_all_us(group, whole_bytes);
  if (!group.has_nvls()) return nccl::tuned_us(group, collective, whole_bytes);
  if (group.axis.nodes == 1) return nccl::one_node_us(group, collective, whole_bytes);
  const std::optional<double> measured_us = nccl::several_nodes_us(group, collective, whole_bytes);
  return measured_us ? *measured_us : nccl::tuned_us(group, collective, whole_bytes);
}

}  // namespace shardwright::redistribution
