#include "search/redistribution/cost/dtensor_step_costs.h"

#include <limits>
#include <utility>

#include "core/numeric/exact_arithmetic.h"
#include "core/redistribution/cost/tensor/dtensor_redistribution.h"

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

// The placements of the axis before and after a move along one axis that communicates.
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
