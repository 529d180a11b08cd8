// The roles of mesh axes in a program of FSDP2 and tensor parallelism: what lies and moves along an
// axis of each role.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/operators/aten/held_tensors.h"

namespace shardwright::operators {

// Replicate and shard are the roles of data axes: every device along them has a part of the batch.
enum class AxisRole : std::uint8_t {
  kFree,       // anything that the rules of the operators allow
  kReplicate,  // data parallelism: parameters are whole, their gradients are reduced
  kShard,      // FSDP: parameters are shards, which are gathered for use; gradients are scattered
  kTensor,     // tensor parallelism: parameters stay; other tensors move between modules only
};

constexpr bool is_data_axis(AxisRole role) {
  return role == AxisRole::kReplicate || role == AxisRole::kShard;
}

std::span<const std::string_view> names_of(AxisRole);
constexpr std::string_view what_of(AxisRole) { return "role"; }

// The roles of all axes, outermost first. Empty if all are free.
using AxisRoles = std::vector<AxisRole>;

// Returns the roles of `axes` axes that a program can have: at most one axis of each role, in the
// order replicate, shard, tensor. Source: torch's fully_shard takes a mesh of the dimensions
// (replicate, shard), and parallelize_module one of a single dimension.
std::vector<AxisRoles> expressible_roles(std::size_t axes);

// What the roles allow for the tensors of one graph.
//
// Data axes. The batch is dimension 0 of the first input, and of all inputs of the same extent
// there. These inputs are sharded in it, other inputs and buffers are replicated. Parameters are
// replicated (kReplicate) or sharded (kShard), except those too small. Along a data axis only the
// following moves: tensors that depend on parameters alone are gathered; tensors that only
// gradients of parameters need are reduced or scattered; single elements, such as the loss, move as
// they like; all other tensors may be sliced, which needs no communication.
//
// Tensor axes. Inputs and buffers are replicated. A parameter is replicated, or a `weight` of two
// dimensions is sharded, or a `bias` along with dimension 0 of its `weight`. Tensors that depend on
// parameters alone stay. Gradients of parameters may be reduced. Single elements move as they like,
// and other tensors where producer and consumer belong to different modules. The batch is whole,
// since its part would have a loss of its own, and so is what depends on no parameter (masks,
// positions). Partial values are reduced where they leave a module, as by RowwiseParallel, or
// before the module adds its bias, which comes to the same.
//
// Thread safety: const members may be called from any thread.
class RoleRules {
 public:
  // `graph` must outlive this. O(inputs).
  RoleRules(const AtenGraph& graph, redistribution::MeshShape mesh, AxisRoles roles);

  const AxisRoles& roles() const { return roles_; }
  bool is_free(std::size_t axis) const { return roles_.empty() || roles_[axis] == AxisRole::kFree; }
  bool is_data(std::size_t axis) const { return !is_free(axis) && is_data_axis(roles_[axis]); }

  // Returns whether a placeholder may have this placement along an axis.
  bool may_hold(std::uint32_t node, std::size_t axis,
                const redistribution::AxisPlacement& placement) const;
  // Returns whether an operator may run with this entry along an axis.
  bool may_run(std::uint32_t node, std::size_t axis, const AxisEntry& entry) const;
  // Returns whether the tensor may move along an axis. Depends on the use by its kind only.
  bool may_move(std::uint8_t kind, std::size_t axis, const redistribution::AxisPlacement& source,
                const redistribution::AxisPlacement& target) const;
  // The same for all axes.
  bool may_move(std::uint8_t kind, const redistribution::Placement& source,
                const redistribution::Placement& target) const;
  // The kind of a use of a tensor, below kNumKinds. 0 for all if every axis is free.
  std::uint8_t kind_of(const TakenTensor& taken) const;

  static constexpr std::size_t kNumKinds = 64;

 private:
  bool meets_bias(std::uint32_t consumer, const TensorRef& ref) const;
  bool has_batch(const AtenTensor& tensor) const;
  bool may_shard(const AtenTensor& parameter, std::size_t dim, std::int64_t parts) const;
  bool may_split(const AtenNode& parameter, std::size_t dim) const;

  const AtenGraph* graph_;
  redistribution::MeshShape mesh_;
  AxisRoles roles_;
  std::int64_t batch_ = 0;                        // its extent; 0 without inputs
  std::vector<std::vector<std::uint8_t>> kinds_;  // by consumer and input
  std::vector<char> of_parameters_;               // by node: depends on parameters alone
  std::vector<char> is_whole_;                    // by node: depends on no parameter or tangent
};

}  // namespace shardwright::operators
