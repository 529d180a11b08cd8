// Finds the cheapest sequence of steps up to a length by trying all sequences.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/program/simulate.h"
#include "search/program/best_planner.h"
#include "search/program/compat_planner.h"
#include "search/redistribution/rank_steps.h"

namespace shardwright::test_support {

// Tries all steps that are possible, whether they are useful or not.
class NaiveReshard {
 public:
  NaiveReshard(const program::Cluster& cluster, const program::Shape& shape, program::DataType type,
               const program::DistAttr& source, const program::DistAttr& target)
      : cluster_(cluster), shape_(shape), type_(type), source_(source), target_(target) {}

  // Returns the cost of the cheapest plan: sequences of at most `steps` mesh steps, plain messages,
  // or Paddle's plan if that is correct. Preconditions: sizes are multiples of 8, and extents
  // divide 8.
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
  using Kind = redistribution::Move::Kind;

  // Tests Paddle's plan on a small tensor. With even parts, its correctness does not depend on
  // sizes.
  bool is_right_when_small() const {
    const program::Shape small(shape_.size(), 8);
    const auto plan = plan_compat(small, source_, target_);
    return plan.ok() && simulate(small, source_, target_, *plan).ok();
  }

  void consider(const program::ReshardPlan& plan) {
    ++sequences_;
    best_ = std::min(best_, plan_us(cluster_, shape_, type_, source_, plan));
  }

  void try_all(const redistribution::Placement& now, std::size_t left) {
    if (now == goal_) {
      program::ReshardPlan plan;
      redistribution::append_rank_steps(shape_, {*mesh_, start_}, moves_, plan);
      consider(plan);
    }
    if (left == 0) return;
    for (std::uint8_t axis = 0; axis < mesh_->axes(); ++axis)
      try_axis(now, axis, left);
  }

  void try_axis(const redistribution::Placement& now, std::uint8_t axis, std::size_t left) {
    const auto dims = static_cast<std::uint8_t>(shape_.size());
    const redistribution::Axes one(1, axis);
    if (now.is_shard(axis)) {
      const auto dim = static_cast<std::uint8_t>(now.dim(axis));
      if (!now.is_innermost(axis) || shape_[dim] % pieces(now, dim) != 0) return;
      go(now, {Kind::kAllGather, one, dim, 0, {}}, left);
      for (std::uint8_t to = 0; to < dims; ++to) {
        if (to != dim && divides(now, axis, to)) go(now, {Kind::kAllToAll, one, dim, to, {}}, left);
      }
      return;
    }
    const bool due = now.is_partial(axis);
    for (std::uint8_t dim = 0; dim < dims; ++dim) {
      if (!divides(now, axis, dim)) continue;
      const auto op = due ? now.reduce_op(axis) : redistribution::ReduceOp::kSum;
      go(now, {due ? Kind::kReduceScatter : Kind::kSplit, one, 0, dim, op}, left);
    }
    if (due) go(now, {Kind::kAllReduce, one, 0, 0, now.reduce_op(axis)}, left);
    if (!due && goal_.is_partial(axis)) {
      go(now, {Kind::kToPartial, one, 0, 0, goal_.reduce_op(axis)}, left);
    }
  }

  void go(const redistribution::Placement& now, const redistribution::Move& move,
          std::size_t left) {
    moves_.push_back(move);
    try_all(after(now, move), left - 1);
    moves_.pop_back();
  }

  std::int64_t pieces(const redistribution::Placement& now, std::size_t dim) const {
    return redistribution::devices_along(mesh_->shape(), now.axes_of(dim));
  }
  bool divides(const redistribution::Placement& now, std::uint8_t axis, std::size_t dim) const {
    return shape_[dim] % (pieces(now, dim) * mesh_->axis_size(axis)) == 0;
  }

  const program::Cluster& cluster_;
  const program::Shape& shape_;
  program::DataType type_;
  const program::DistAttr& source_;
  const program::DistAttr& target_;
  const program::ProcessMesh* mesh_ = nullptr;
  redistribution::Placement start_;
  redistribution::Placement goal_;
  std::vector<redistribution::Move> moves_;
  double best_ = std::numeric_limits<double>::infinity();
  std::size_t sequences_ = 0;
};

}  // namespace shardwright::test_support
