#include "core/operators/aten/axis_roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/operators/aten/tensor_uses.h"

namespace shardwright::operators {
namespace {

using redistribution::AxisPlacement;
using redistribution::Placement;

constexpr std::array<std::string_view, 4> kRoleNames{"free", "replicate", "shard", "tensor"};

// Bits of RoleRules::kind_of().
constexpr std::uint8_t kOfParameters = 1;  // depends on parameters alone
constexpr std::uint8_t kForGradients = 2;  // only gradients of parameters need it
constexpr std::uint8_t kBorder = 4;        // passes from one module to another
constexpr std::uint8_t kElement = 8;       // has one element
constexpr std::uint8_t kLeaves = 16;       // passes from one module to another in the forward
constexpr std::uint8_t kMeetsBias = 32;    // its forward operator also takes a bias

bool has(std::uint8_t kind, std::uint8_t bit) { return (kind & bit) != 0; }

bool may_move_data(std::uint8_t kind, const AxisPlacement& source, const AxisPlacement& target) {
  if (has(kind, kElement)) return true;
  if (has(kind, kOfParameters)) return source.is_shard() && target.is_replicate();
  if (source.is_replicate()) return target.is_shard();
  return has(kind, kForGradients) && source.is_partial();
}

bool may_move_between_modules(std::uint8_t kind, const AxisPlacement& source,
                              const AxisPlacement& target) {
  if (has(kind, kElement)) return true;
  if (has(kind, kOfParameters)) return false;
  if (has(kind, kForGradients) && source.is_partial() && target.is_replicate()) return true;
  return has(kind, kBorder) || (has(kind, kMeetsBias) && source.is_partial());
}

// By node: neither a parameter nor a tangent nor computed from one.
std::vector<char> depends_on_no_weights(const AtenGraph& graph) {
  std::vector<char> is_whole(graph.size(), 1);
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const AtenNode& node = graph[n];
    if (node.role == AtenRole::kParameter || node.role == AtenRole::kTangent) is_whole[n] = 0;
    for (const TensorRef& ref : node.inputs) {
      if (is_whole[ref.node] == 0) is_whole[n] = 0;
    }
  }
  return is_whole;
}

}  // namespace

std::span<const std::string_view> names_of(AxisRole) { return kRoleNames; }

std::vector<AxisRoles> expressible_roles(std::size_t axes) {
  constexpr std::array<AxisRole, 3> kRoles{AxisRole::kReplicate, AxisRole::kShard,
                                           AxisRole::kTensor};
  std::vector<AxisRoles> found;
  for (std::uint32_t subset = 1; subset < 1U << kRoles.size(); ++subset) {
    AxisRoles roles;
    for (std::size_t r = 0; r < kRoles.size(); ++r) {
      if ((subset >> r & 1U) != 0) roles.push_back(kRoles[r]);
    }
    if (roles.size() == axes) found.push_back(std::move(roles));
  }
  return found;
}

RoleRules::RoleRules(const AtenGraph& graph, redistribution::MeshShape mesh, AxisRoles roles)
    : graph_(&graph), mesh_(std::move(mesh)), roles_(std::move(roles)) {
  if (roles_.empty()) return;
  for (const AtenNode& node : graph.nodes()) {
    if (node.role != AtenRole::kInput || node.outputs[0]->shape.empty()) continue;
    batch_ = node.outputs[0]->shape[0];
    break;
  }
  of_parameters_ = depends_on_parameters(graph);
  is_whole_ = depends_on_no_weights(graph);
  const std::vector<std::string_view> modules = modules_of(graph);
  const GradientUses uses(graph);
  const auto kind = [&](std::uint32_t consumer, const TensorRef& ref) {
    std::uint8_t bits = of_parameters_[ref.node] != 0 ? kOfParameters : 0;
    if (uses.only(ref)) bits |= kForGradients;
    if (graph[ref.node].is_placeholder() || consumer >= graph.size() ||
        modules[ref.node] != modules[consumer])
      bits |= kBorder;
    if (consumer < graph.size() && has(bits, kBorder) && !graph[consumer].backward) bits |= kLeaves;
    if (redistribution::num_elements(graph.tensor(ref).shape) == 1) bits |= kElement;
    if (meets_bias(consumer, ref)) bits |= kMeetsBias;
    return bits;
  };
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    std::vector<std::uint8_t>& own = kinds_.emplace_back();
    for (const TensorRef& ref : graph[n].inputs)
      own.push_back(kind(n, ref));
  }
  for (const AtenOutput& output : graph.outputs())
    kinds_.push_back({kind(static_cast<std::uint32_t>(kinds_.size()), output.value)});
}

bool RoleRules::meets_bias(std::uint32_t consumer, const TensorRef& ref) const {
  if (consumer >= graph_->size() || (*graph_)[consumer].backward) return false;
  const std::vector<TensorRef>& inputs = (*graph_)[consumer].inputs;
  return inputs.size() == 2 &&
         std::any_of(inputs.begin(), inputs.end(), [&](const TensorRef& other) {
           return other != ref && of_parameters_[other.node] != 0 &&
                  graph_->tensor(other).shape.size() == 1;
         });
}

bool RoleRules::has_batch(const AtenTensor& tensor) const {
  return !tensor.shape.empty() && tensor.shape[0] == batch_;
}

// FSDP cuts dimension 0 of any extent, and other dimensions into equal parts only.
bool RoleRules::may_shard(const AtenTensor& parameter, std::size_t dim, std::int64_t parts) const {
  const std::int64_t extent = parameter.shape[dim];
  return dim == 0 ? extent >= parts : extent > 0 && extent % parts == 0;
}

bool RoleRules::may_split(const AtenNode& parameter, std::size_t dim) const {
  const AtenTensor& tensor = *parameter.outputs[0];
  constexpr std::string_view kWeight = "weight", kBias = "bias";
  const std::string_view name = parameter.target;
  if (tensor.shape.size() == 2) return name.ends_with(kWeight);
  if (tensor.shape.size() != 1 || dim != 0 || !name.ends_with(kBias)) return false;
  const std::string weight =
      std::string(name.substr(0, name.size() - kBias.size())) + std::string(kWeight);
  for (const AtenNode& node : graph_->nodes()) {
    if (node.role == AtenRole::kParameter && node.target == weight) {
      const redistribution::Shape& shape = node.outputs[0]->shape;
      return shape.size() == 2 && shape[0] == tensor.shape[0];
    }
  }
  return false;
}

bool RoleRules::may_hold(std::uint32_t node, std::size_t axis,
                         const AxisPlacement& placement) const {
  if (is_free(axis) || mesh_[axis] == 1) return true;
  const AtenNode& holder = (*graph_)[node];
  if (!holder.outputs[0]) return true;
  const AtenTensor& tensor = *holder.outputs[0];
  if (holder.role == AtenRole::kBuffer) return placement.is_replicate();
  if (holder.role != AtenRole::kParameter) {
    if (!is_data(axis)) return holder.role == AtenRole::kTangent || placement.is_replicate();
    return has_batch(tensor) ? placement == AxisPlacement::shard(0) : placement.is_replicate();
  }
  if (!is_data(axis)) return placement.is_replicate() || may_split(holder, placement.dim);
  if (roles_[axis] == AxisRole::kReplicate) return placement.is_replicate();
  if (placement.is_shard()) return may_shard(tensor, placement.dim, mesh_[axis]);
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    if (may_shard(tensor, dim, mesh_[axis])) return false;
  }
  return true;
}

bool RoleRules::may_run(std::uint32_t node, std::size_t axis, const AxisEntry& entry) const {
  if (mesh_[axis] == 1) return true;
  if (entry.by_part && !is_data(axis)) return false;
  if (is_free(axis) || is_data(axis)) return true;
  const AtenNode& runs = (*graph_)[node];
  const auto may_have = [&](const MaybeAxisPlacement& placement, const TensorRef& ref) {
    if (!placement || placement->is_replicate() || of_parameters_[ref.node] != 0) return true;
    if (is_whole_[ref.node] != 0) return false;
    return !placement->is_shard() || placement->dim != 0 || !has_batch(graph_->tensor(ref));
  };
  for (std::uint32_t i = 0; i < runs.inputs.size(); ++i) {
    if (!may_have(entry.inputs[i], runs.inputs[i])) return false;
  }
  for (std::uint32_t o = 0; o < runs.outputs.size(); ++o) {
    if (runs.outputs[o] && !may_have(entry.outputs[o], {node, o})) return false;
  }
  return true;
}

bool RoleRules::may_move(std::uint8_t kind, std::size_t axis, const AxisPlacement& source,
                         const AxisPlacement& target) const {
  if (is_free(axis) || mesh_[axis] == 1) return true;
  if (roles_[axis] == AxisRole::kTensor && target.is_partial() && has(kind, kLeaves) &&
      !has(kind, kElement))
    return false;
  if (source == target) return true;
  return roles_[axis] == AxisRole::kTensor ? may_move_between_modules(kind, source, target)
                                           : may_move_data(kind, source, target);
}

bool RoleRules::may_move(std::uint8_t kind, const Placement& source,
                         const Placement& target) const {
  for (std::size_t axis = 0; axis < roles_.size(); ++axis) {
    if (!may_move(kind, axis, source.on(axis), target.on(axis))) return false;
  }
  return true;
}

std::uint8_t RoleRules::kind_of(const TakenTensor& taken) const {
  return kinds_.empty() ? 0 : kinds_[taken.consumer][taken.input];
}

}  // namespace shardwright::operators
