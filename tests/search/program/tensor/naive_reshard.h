// Finds the cheapest of all sequences up to a length by trying them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/program/simulator/simulate.h"
#include "search/program/tensor/compat_planner.h"
#include "search/program/tensor/cost_model.h"
#include "search/program/tensor/move_parts.h"
#include "search/program/tensor/placement_state.h"

namespace shardwright::test_support {

// Knows which steps are possible, but not which are useful.
class NaiveReshard {
 public:
  NaiveReshard(const program::Cluster& cluster, const program::Shape& shape, program::DataType type,
               const program::DistAttr& source, const program::DistAttr& target)
      : cluster_(cluster), shape_(shape), type_(type), source_(source), target_(target) {}

  // Returns the cost of the cheapest of all sequences of at most `steps` mesh steps, of plain
  // messages, and of upstream's plan if that is correct. Precondition: sizes are multiples of 8,
  // extents divide 8.
  double cheapest_us(std::size_t steps) {
    using namespace program;
    if (const auto fine = refine(source_.mesh, target_.mesh)) {
      mesh_ = &fine->mesh;
      start_ = placement_of(source_, fine->source_axes);
      goal_ = placement_of(target_, fine->target_axes);
      try_all(start_, steps);
    }
    if (can_move(source_, target_)) {
      ReshardPlan plan;
      append_moves(cluster_, shape_, type_, source_, target_, plan);
      consider(plan);
    }
    const auto compat = plan_compat(shape_, source_, target_);
    if (compat.ok() && is_right_when_small()) consider(*compat);
    return best_;
  }
  std::size_t sequences() const { return sequences_; }

 private:
  using Kind = program::MeshStep::Kind;

  // Whether upstream's plan is correct does not depend on sizes as long as parts are even.
  bool is_right_when_small() const {
    const program::Shape small(shape_.size(), 8);
    const auto plan = plan_compat(small, source_, target_);
    return plan.ok() && simulate(small, source_, target_, *plan).ok();
  }

  void consider(const program::ReshardPlan& plan) {
    ++sequences_;
    best_ = std::min(best_, plan_us(cluster_, shape_, type_, source_, plan));
  }

  void try_all(const program::MeshPlacement& now, std::size_t left) {
    if (now == goal_) {
      program::ReshardPlan plan;
      append_steps(shape_, *mesh_, start_, goal_, steps_, plan);
      consider(plan);
    }
    if (left == 0) return;
    for (std::uint8_t axis = 0; axis < mesh_->axes(); ++axis)
      try_axis(now, axis, left);
  }

  void try_axis(const program::MeshPlacement& now, std::uint8_t axis, std::size_t left) {
    const auto dims = static_cast<std::uint8_t>(shape_.size());
    bool splits = false;
    for (std::uint8_t dim = 0; dim < dims; ++dim) {
      const auto& axes = now.dims[dim];
      splits = splits || std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (axes.empty() || axes.back() != axis || shape_[dim] % pieces(*mesh_, axes) != 0) continue;
      go(now, {Kind::kAllGather, axis, dim, 0}, left);
      for (std::uint8_t to = 0; to < dims; ++to) {
        if (to != dim && divides(now, axis, to)) go(now, {Kind::kAllToAll, axis, dim, to}, left);
      }
    }
    if (splits) return;
    const bool due = now.due[axis] != program::Reduction::kNone;
    for (std::uint8_t dim = 0; dim < dims; ++dim) {
      if (!divides(now, axis, dim)) continue;
      go(now, {due ? Kind::kReduceScatter : Kind::kSplit, axis, 0, dim}, left);
    }
    if (due) go(now, {Kind::kAllReduce, axis, 0, 0}, left);
    if (!due && goal_.due[axis] != program::Reduction::kNone) {
      go(now, {Kind::kToPartial, axis, 0, 0}, left);
    }
  }

  void go(const program::MeshPlacement& now, const program::MeshStep& step, std::size_t left) {
    steps_.push_back(step);
    try_all(after(now, step, goal_.due[step.axis]), left - 1);
    steps_.pop_back();
  }

  bool divides(const program::MeshPlacement& now, std::uint8_t axis, std::uint8_t dim) const {
    return shape_[dim] % (pieces(*mesh_, now.dims[dim]) * mesh_->axis_size(axis)) == 0;
  }

  const program::Cluster& cluster_;
  const program::Shape& shape_;
  program::DataType type_;
  const program::DistAttr& source_;
  const program::DistAttr& target_;
  const program::ProcessMesh* mesh_ = nullptr;
  program::MeshPlacement start_;
  program::MeshPlacement goal_;
  std::vector<program::MeshStep> steps_;
  double best_ = std::numeric_limits<double>::infinity();
  std::size_t sequences_ = 0;
};

}  // namespace shardwright::test_support
