#include "search/program/tensor/cost_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/program/tensor/mesh_refinement.h"

namespace shardwright::program {
namespace {

double elements(const Shape& shape) { return static_cast<double>(num_elements(shape)); }

double inter_hop(const Cluster& cluster) {
  return cluster.inter_ring_us + cluster.switch_hops * cluster.switch_us;
}

double beta(const Cluster& cluster, GroupShape group) {
  return group.machines > 1 ? cluster.inter_us_per_byte : cluster.intra_us_per_byte;
}

double ring_us(const Cluster& cluster, GroupShape group) {
  return static_cast<double>(group.ranks - group.machines) * cluster.intra_ring_us +
         static_cast<double>(group.machines - 1) * inter_hop(cluster);
}

redistribution::MoveRules even_moves() {
  redistribution::MoveRules rules;
  rules.uneven = false;
  rules.groups = false;
  return rules;
}

// The tensor of one rank after some steps, and the time that they took.
struct Local {
  Shape shape;
  double us = 0;
};

// Adds the time of a collective and updates the local shape.
void collective(const Cluster& cluster, const Step& step, std::int64_t size, Local& local) {
  const GroupShape group = group_shape(cluster, step.group);
  const double bytes = elements(local.shape) * static_cast<double>(size);
  const double whole_bytes = bytes * static_cast<double>(group.ranks);
  const auto dim = static_cast<std::size_t>(std::max<std::int8_t>(step.dim, 0));
  switch (step.kind) {
    case StepKind::kAllReduce:
      local.us += all_reduce_us(cluster, group, bytes);
      return;
    case StepKind::kReduceScatter:
      local.us += exchange_us(cluster, group, bytes);
      if (dim != 0) local.us += local_us(cluster, bytes);
      local.shape[dim] /= group.ranks;
      return;
    case StepKind::kAllToAll:
      local.us += exchange_us(cluster, group, bytes);
      if (dim != 0) local.us += local_us(cluster, bytes);
      if (step.other_dim != 0) local.us += local_us(cluster, bytes);
      local.shape[dim] /= group.ranks;
      local.shape[static_cast<std::size_t>(step.other_dim)] *= group.ranks;
      return;
    case StepKind::kConcatGather:
      local.us += all_gather_us(cluster, group, whole_bytes);
      local.shape.back() *= group.ranks;
      return;
    default:
      local.us += all_gather_us(cluster, group, whole_bytes);
      if (!step.need_split && !local.shape.empty()) local.shape.front() *= group.ranks;
      return;
  }
}

Part bounding(const std::vector<Part>& parts) {
  Part box = parts.front();
  for (const Part& part : parts) {
    for (std::size_t dim = 0; dim < box.size(); ++dim) {
      box[dim] = {std::min(box[dim].begin, part[dim].begin), std::max(box[dim].end, part[dim].end)};
    }
  }
  return box;
}

void advance(const Cluster& cluster, const Step& step, std::int64_t size, Local& local) {
  if (is_collective(step.kind)) return collective(cluster, step, size, local);
  const double part_bytes =
      step.part.empty() ? 0 : static_cast<double>(num_elements(step.part) * size);
  switch (step.kind) {
    case StepKind::kSend:
    case StepKind::kRecv:
      local.us += send_us(cluster, cluster.machine_of(step.src) == cluster.machine_of(step.dst),
                          part_bytes);
      if (!step.local.empty()) local.us += local_us(cluster, part_bytes);
      return;
    case StepKind::kKeep:
      if (!step.local.empty()) local.us += local_us(cluster, part_bytes);
      return;
    case StepKind::kConcat:
      local.shape = shape_of(bounding(step.parts));
      if (step.parts.size() > 1) {
        local.us += local_us(cluster, elements(local.shape) * static_cast<double>(size));
      }
      return;
    case StepKind::kSlice:
      // A split writes all its pieces.
      local.us += local_us(cluster, elements(local.shape) * static_cast<double>(size));
      local.shape = shape_of(step.part);
      return;
    case StepKind::kZero:
      local.shape = shape_of(step.part);
      local.us += local_us(cluster, part_bytes);
      return;
    default:
      return;
  }
}

}  // namespace

GroupShape group_shape(const Cluster& cluster, const std::vector<Rank>& group) {
  std::vector<std::int64_t> machines;
  machines.reserve(group.size());
  for (const Rank rank : group)
    machines.push_back(cluster.machine_of(rank));
  std::sort(machines.begin(), machines.end());
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  return {static_cast<std::int64_t>(group.size()), static_cast<std::int64_t>(machines.size())};
}

// Source: the cost constants of Paddle's package, ring algorithm.
double all_gather_us(const Cluster& cluster, GroupShape group, double bytes) {
  const auto n = static_cast<double>(group.ranks);
  return cluster.base_ring_us + ring_us(cluster, group) +
         (n - 1) / n * bytes * beta(cluster, group);
}

// Source: the same constants; a ring within one machine, a tree across machines.
double all_reduce_us(const Cluster& cluster, GroupShape group, double bytes) {
  const auto n = static_cast<double>(group.ranks);
  const auto machines = static_cast<double>(group.machines);
  if (group.machines == 1) {
    return cluster.base_ring_us + 2 * ring_us(cluster, group) +
           2 * (n - 1) / n * bytes * beta(cluster, group);
  }
  return 2 * (n / machines - 1) * cluster.tree_us +
         std::log2(machines) * (cluster.tree_us + cluster.switch_hops * cluster.switch_us) +
         2 * bytes * beta(cluster, group);
}

// Source: the same formula, for the bytes that move.
double exchange_us(const Cluster& cluster, GroupShape group, double bytes) {
  return all_gather_us(cluster, group, bytes);
}

double send_us(const Cluster& cluster, bool same_machine, double bytes) {
  return cluster.base_ring_us + (same_machine ? cluster.intra_ring_us : inter_hop(cluster)) +
         bytes * (same_machine ? cluster.intra_us_per_byte : cluster.inter_us_per_byte);
}

double local_us(const Cluster& cluster, double bytes) { return bytes / cluster.local_bytes_per_us; }

std::int64_t message_bytes(DataType type) {
  return type == DataType::kBool ? 8 : element_bytes(type);
}

double plan_us(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
               const ReshardPlan& plan) {
  double slowest = 0;
  for (const auto& [rank, steps] : plan.ranks) {
    Local local;
    if (const auto position = source.mesh.position_of(rank)) {
      local.shape = shape_of(part_at(shape, source, *position));
    }
    for (const Step& step : steps)
      advance(cluster, step, message_bytes(type), local);
    slowest = std::max(slowest, local.us);
  }
  return slowest;
}

MeshCosts::MeshCosts(const Cluster& cluster, const ProcessMesh& mesh, const Shape& shape,
                     DataType type)
    : cluster_(&cluster),
      tensor_{mesh.shape(), shape},
      element_bytes_(static_cast<double>(message_bytes(type))) {
  for (std::size_t axis = 0; axis < mesh.axes(); ++axis) {
    GroupShape worst;
    for (std::size_t position = 0; position < mesh.size(); ++position) {
      if (mesh.coordinate(position, axis) != 0) continue;
      const GroupShape group = group_shape(cluster, group_along(mesh, axis, position));
      if (group.machines >= worst.machines) worst = group;
    }
    groups_.push_back(worst);
  }
}

double MeshCosts::cost(const redistribution::PricedMove& step) const {
  using MoveKind = redistribution::Move::Kind;
  const redistribution::Move& move = step.move;
  const GroupShape group = groups_[move.axes.front()];
  if (group.ranks == 1) return 0;
  const double bytes = element_bytes_ * static_cast<double>(step.held_before);
  const auto n = static_cast<double>(group.ranks);
  const double rearranging = local_us(*cluster_, bytes);
  switch (move.kind) {
    case MoveKind::kAllGather: {
      const bool middle = move.from != 0 && move.from + 1U != tensor_.shape.size();
      return all_gather_us(*cluster_, group, n * bytes) + (middle ? n * rearranging : 0);
    }
    case MoveKind::kAllToAll:
      return exchange_us(*cluster_, group, bytes) + (move.to != 0 ? rearranging : 0) +
             (move.from != 0 ? rearranging : 0);
    case MoveKind::kAllReduce:
      return all_reduce_us(*cluster_, group, bytes);
    case MoveKind::kReduceScatter:
      return exchange_us(*cluster_, group, bytes) + (move.to != 0 ? rearranging : 0);
    case MoveKind::kSplit:
    case MoveKind::kToPartial:
      return local_us(*cluster_, bytes);
    case MoveKind::kPermute:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

redistribution::Path cheapest_moves(const MeshCosts& costs, const redistribution::Placement& source,
                                    const redistribution::Placement& target) {
  return find_path(costs.tensor(), costs, even_moves(), source, target);
}

redistribution::Path cheapest_reduction(const MeshCosts& costs,
                                        const redistribution::Placement& source) {
  return find_reducing_path(costs.tensor(), costs, even_moves(), source);
}

}  // namespace shardwright::program
