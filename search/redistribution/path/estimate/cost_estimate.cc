#include "search/redistribution/path/estimate/cost_estimate.h"

#include <algorithm>
#include <limits>

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool is_one(std::uint32_t set) { return (set & (set - 1)) == 0; }  // or none

AxisSet swapped(AxisSet set, std::size_t a, std::size_t b) {
  const AxisSet differ = (set >> a ^ set >> b) & 1;
  return set ^ (differ << a | differ << b);
}

Pattern without(const Pattern& pattern, AxisSet axes) {
  return {pattern.as_target & ~axes, pattern.as_source & ~axes, pattern.elsewhere & ~axes,
          pattern.partial & ~axes};
}

}  // namespace

CostEstimate::CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, bool groups,
                           const Placement& source, const Placement& target, double most)
    : mesh_(tensor.mesh),
      space_(mesh_.size(), source, target,
             groups && (source.has_partial() || target.has_partial())),
      costs_(tensor, costs),
      groups_(groups),
      any_partial_(source.has_partial() || target.has_partial()),
      most_(most),
      all_((AxisSet{1} << mesh_.size()) - 1),
      left_(space_.size(), kInfinite),
      settled_(space_.size()),
      permuted_(groups ? std::size_t{1} << 2 * mesh_.size() : 0) {
  reach(space_.pattern_of(target), 0);
}

double CostEstimate::left(const Placement& at) {
  const std::size_t index = space_.index_of(space_.pattern_of(at));
  while (settled_[index] == 0) {
    if (heap_.empty()) return kInfinite;
    settle_next();
  }
  return left_[index];
}

void CostEstimate::reach(const Pattern& from, double cost) {
  const std::size_t index = space_.index_of(from);
  if (!(cost < left_[index]) || cost > most_) return;
  left_[index] = cost;
  heap_.push_back({cost, index, from});
  std::push_heap(heap_.begin(), heap_.end());
}

void CostEstimate::settle_next() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Entry entry = heap_.back();
  heap_.pop_back();
  if (settled_[entry.index] != 0) return;
  settled_[entry.index] = 1;
  const Pattern& to = entry.pattern;
  for_each_part(all_ & ~to.any(), groups_,
                [&](AxisSet axes) { before_replicas(to, entry.cost, axes); });
  for_each_part(space_.sharded(to), groups_,
                [&](AxisSet axes) { before_shards(to, entry.cost, axes); });
  before_partial(to, entry.cost);
  if (groups_) before_permutes(to, entry.cost);
}

// The axes were gathered or reduced.
void CostEstimate::before_replicas(const Pattern& to, double cost, AxisSet axes) {
  const AxisSet shards = space_.sharded(to);
  const double gather = cost + costs_.least(Kind::kAllGather, axes, shards | axes);
  space_.for_each_sharded(to, axes, [&](const Pattern& from) {
    if (is_one(space_.dims(from, axes)) && space_.is_possible(from)) reach(from, gather);
  });
  if (!any_partial_) return;
  const double reduction = cost + costs_.least(Kind::kAllReduce, axes, shards);
  space_.for_each_partial(to, axes, [&](const Pattern& from) { reach(from, reduction); });
}

// The axes were exchanged, scattered, or sliced.
void CostEstimate::before_shards(const Pattern& to, double cost, AxisSet axes) {
  const AxisSet shards = space_.sharded(to);
  const std::uint32_t arrived = space_.dims(to, axes);
  if (!is_one(arrived)) return;
  const Pattern rest = without(to, axes);
  const double exchange = cost + costs_.least_exchange(axes, shards, groups_);
  space_.for_each_sharded(rest, axes, [&](const Pattern& from) {
    const AxisSet unchanged = (from.as_target & to.as_target) | (from.as_source & to.as_source) |
                              (from.elsewhere & to.elsewhere);
    const std::uint32_t departed = space_.dims(from, axes);
    if ((unchanged & axes) == 0 && is_one(departed) && (departed & arrived) == 0 &&
        space_.is_possible(from)) {
      reach(from, exchange);
    }
  });
  if (!space_.is_possible(rest)) return;
  if (is_one(axes)) reach(rest, cost + costs_.least(Kind::kSplit, axes, shards & ~axes));
  if (!any_partial_) return;
  const double scatter = cost + costs_.least(Kind::kReduceScatter, axes, shards & ~axes);
  space_.for_each_partial(rest, axes, [&](const Pattern& from) { reach(from, scatter); });
}

// Replicas became partial.
void CostEstimate::before_partial(const Pattern& to, double cost) {
  for_each_part(to.as_target & ~space_.sharded(to), false, [&](AxisSet axis) {
    reach(without(to, axis), cost + costs_.least(Kind::kToPartial, axis, space_.sharded(to)));
  });
}

// Two axes changed places. That may align all others, so only shards and partial axes count.
void CostEstimate::before_permutes(const Pattern& to, double cost) {
  const AxisSet shards = space_.sharded(to);
  const AxisSet partial = space_.partial(to);
  char& done = permuted_[std::size_t{shards} << mesh_.size() | partial];
  if (done != 0) return;
  done = 1;
  for (std::size_t a = 0; a < mesh_.size(); ++a) {
    for (std::size_t b = a + 1; b < mesh_.size(); ++b) {
      if (mesh_[a] != mesh_[b]) continue;
      const AxisSet before = swapped(shards, a, b);
      const double permuted = cost + costs_.permute(a, b, before);
      if (permuted > most_) continue;
      space_.for_each_sharded({}, before, [&](const Pattern& sharded) {
        if (!space_.is_possible(sharded)) return;
        space_.for_each_partial(sharded, swapped(partial, a, b),
                                [&](const Pattern& from) { reach(from, permuted); });
      });
    }
  }
}

}  // namespace shardwright::redistribution
