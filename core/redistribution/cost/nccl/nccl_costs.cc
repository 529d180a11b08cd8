#include "core/redistribution/cost/nccl/nccl_costs.h"

#include <optional>
#include <utility>

#include "core/check.h"
#include "core/redistribution/cost/nccl/all_to_all.h"
#include "core/redistribution/cost/nccl/nvswitch.h"

namespace shardwright::redistribution {

namespace {

double group_us(const nccl::Group& group, Collective collective, double bytes) {
  const std::int64_t whole_bytes = static_cast<std::int64_t>(bytes);
  if (collective == Collective::kAllToAll) return nccl::all_to_all_us(group, whole_bytes);
  if (!group.has_nvls()) return nccl::tuned_us(group, collective, whole_bytes);
  if (group.axis.nodes == 1) return nccl::one_node_us(group, collective, whole_bytes);
  const std::optional<double> measured_us = nccl::several_nodes_us(group, collective, whole_bytes);
  return measured_us ? *measured_us : nccl::tuned_us(group, collective, whole_bytes);
}

Axes axes_in(std::size_t set) {
  Axes axes;
  for (std::size_t axis = 0; set >> axis != 0; ++axis) {
    if ((set >> axis & 1) != 0) axes.push_back(static_cast<std::uint8_t>(axis));
  }
  return axes;
}

}  // namespace

NcclCosts::NcclCosts(MeshShape mesh, const NcclConfig& config) : CollectiveCosts(std::move(mesh)) {
  const MeshShape& shape = this->mesh();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    groups_.push_back(nccl::Group::make(config, nccl_axis(config, shape, axis)));
  if (shape.size() > kMaxMeshAxes) return;
  for (std::size_t set = 0; set < std::size_t{1} << shape.size(); ++set)
    joint_.push_back(nccl::Group::make(config, nccl_group(config, shape, axes_in(set))));
}

Result<NcclCosts> NcclCosts::make(MeshShape mesh, const NcclConfig& config) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_nccl_config(config));
  return NcclCosts(std::move(mesh), config);
}

double NcclCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < groups_.size());
  return group_us(groups_[axis], collective, bytes);
}

double NcclCosts::microseconds_over(Collective collective, const Axes& axes, double bytes) const {
  if (joint_.empty()) return CollectiveCosts::microseconds_over(collective, axes, bytes);
  std::size_t set = 0;
  for (const std::uint8_t axis : axes)
    set |= std::size_t{1} << axis;
  SHARDWRIGHT_DCHECK(set < joint_.size());
  return group_us(joint_[set], collective, bytes);
}

}  // namespace shardwright::redistribution
