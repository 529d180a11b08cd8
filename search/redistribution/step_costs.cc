#include "search/redistribution/step_costs.h"

#include <limits>
#include <utility>

#include "core/numeric/exact_mean.h"
#include "core/redistribution/cost/tensor_redistribution.h"

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

// Returns how often the move copies a device's tensor. Collectives work on the first dimension
// only, so each other dimension needs a copy.
int num_copies(const Move& move) {
  switch (move.kind) {
    case Kind::kAllGather:
      return move.from != 0 ? 1 : 0;
    case Kind::kAllToAll:
      return (move.from != 0 ? 1 : 0) + (move.to != 0 ? 1 : 0);
    case Kind::kReduceScatter:
      return move.to != 0 ? 1 : 0;
    case Kind::kAllReduce:
    case Kind::kPermute:
      return 0;
    case Kind::kSplit:
    case Kind::kToPartial:
      return 1;
  }
  return 0;
}

}  // namespace

double CollectiveStepCosts::cost(const PricedMove& step) const {
  const bool grows = step.move.kind == Kind::kAllGather;
  const double bytes = static_cast<double>(grows ? step.held_after : step.held_before) *
                       static_cast<double>(options_.itemsize);
  const double copied = step.move.kind == Kind::kSplit ? static_cast<double>(step.held_after) *
                                                             static_cast<double>(options_.itemsize)
                                                       : bytes;
  const double copies_us = num_copies(step.move) * (copied / options_.copy_bytes_per_us);
  switch (step.move.kind) {
    case Kind::kAllGather:
      return collective_us(Collective::kAllGather, step.move.axes, bytes) + copies_us;
    case Kind::kAllToAll:
      return collective_us(Collective::kAllToAll, step.move.axes, bytes) + copies_us;
    case Kind::kAllReduce:
      return collective_us(Collective::kAllReduce, step.move.axes, bytes);
    case Kind::kReduceScatter:
      return collective_us(Collective::kReduceScatter, step.move.axes, bytes) + copies_us;
    case Kind::kPermute:
      return options_.launch_us + costs_.permute_microseconds(step.move.axes, bytes);
    case Kind::kSplit:
    case Kind::kToPartial:
      return copies_us;
  }
  return 0;
}

double CollectiveStepCosts::collective_us(Collective collective, const Axes& axes,
                                          double bytes) const {
  return options_.launch_us + (axes.size() == 1
                                   ? costs_.microseconds(collective, axes.front(), bytes)
                                   : costs_.microseconds_over(collective, axes, bytes));
}

namespace {

using Kind = Move::Kind;

// Returns the placements of the axis before and after a collective along this single axis.
std::pair<AxisPlacement, AxisPlacement> ends_of(const Move& move) {
  const bool reduces = move.kind == Kind::kAllReduce || move.kind == Kind::kReduceScatter;
  const bool shards = move.kind == Kind::kAllToAll || move.kind == Kind::kReduceScatter;
  return {reduces ? AxisPlacement::partial(move.reduce_op) : AxisPlacement::shard(move.from),
          shards ? AxisPlacement::shard(move.to) : AxisPlacement::replicate()};
}

}  // namespace

double DTensorStepCosts::cost(const PricedMove& step) const {
  const Move& move = step.move;
  if (!move.communicates()) return 0;
  if (move.axes.size() != 1) return std::numeric_limits<double>::infinity();
  const double bytes = true_divide(static_cast<std::uint64_t>(bytes_),
                                   static_cast<std::uint64_t>(step.parts_before));
  const auto [source, target] = ends_of(move);
  return dtensor_step(costs_, move.axes.front(), source, target, bytes).microseconds;
}

}  // namespace shardwright::redistribution
