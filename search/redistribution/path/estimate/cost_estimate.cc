#include "search/redistribution/path/estimate/cost_estimate.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

bool is_one(std::uint32_t set) { return (set & (set - 1)) == 0; }  // or none

Pattern without(const Pattern& pattern, AxisSet axes) {
  return {pattern.as_target & ~axes, pattern.as_source & ~axes, pattern.astray & ~axes,
          pattern.elsewhere & ~axes, pattern.partial & ~axes};
}

}  // namespace

CostEstimate::CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, bool groups,
                           const Placement& source, const Placement& target, double most)
    : space_(tensor.mesh.size(), source, target, groups),
      costs_(tensor, costs),
      groups_(groups),
      any_partial_(source.has_partial() || target.has_partial()),
      most_(most),
      all_((AxisSet{1} << tensor.mesh.size()) - 1),
      left_(space_.size()) {
  reach(space_.pattern_of(target), 0);
}

double CostEstimate::left(const Placement& at) {
  const std::size_t index = space_.index_of(space_.pattern_of(at));
  while (!left_[index].is_settled) {
    if (heap_.empty()) return kInfinite;
    settle_next();
  }
  return left_[index].cost;
}

void CostEstimate::reach(const Pattern& from, double cost) {
  const std::size_t index = space_.index_of(from);
  left_[index].cost = cost;
  heap_.push_back({cost, index, from});
  std::push_heap(heap_.begin(), heap_.end());
}

void CostEstimate::settle_next() {
  std::pop_heap(heap_.begin(), heap_.end());
  const Entry entry = heap_.back();
  heap_.pop_back();
  Bound& bound = left_[entry.index];
  if (bound.is_settled) return;
  bound.is_settled = true;
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
    if (is_news(from, gather) && is_one(space_.dims(from, axes)) && space_.is_possible(from))
      reach(from, gather);
  });
  if (!any_partial_) return;
  const double reduction = cost + costs_.least(Kind::kAllReduce, axes, shards);
  space_.for_each_partial(to, axes, [&](const Pattern& from) {
    if (is_news(from, reduction)) reach(from, reduction);
  });
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
                              (from.astray & to.astray) | (from.elsewhere & to.elsewhere);
    const std::uint32_t departed = space_.dims(from, axes);
    if (is_news(from, exchange) && (unchanged & axes) == 0 && is_one(departed) &&
        (departed & arrived) == 0 && space_.is_possible(from)) {
      reach(from, exchange);
    }
  });
  if (!space_.is_possible(rest)) return;
  if (is_one(axes)) {
    const double split = cost + costs_.least(Kind::kSplit, axes, shards & ~axes);
    if (is_news(rest, split)) reach(rest, split);
  }
  if (!any_partial_) return;
  const double scatter = cost + costs_.least(Kind::kReduceScatter, axes, shards & ~axes);
  space_.for_each_partial(rest, axes, [&](const Pattern& from) {
    if (is_news(from, scatter)) reach(from, scatter);
  });
}

// Replicas became partial.
void CostEstimate::before_partial(const Pattern& to, double cost) {
  for_each_part(to.as_target & ~space_.sharded(to), false, [&](AxisSet axis) {
    const Pattern from = without(to, axis);
    const double made = cost + costs_.least(Kind::kToPartial, axis, space_.sharded(to));
    if (is_news(from, made)) reach(from, made);
  });
}

// Devices changed places. Patterns with the same cuts have the same moves of this kind, so the
// first of them that is settled is the cheapest one to go on from.
void CostEstimate::before_permutes(const Pattern& to, double cost) {
  const double cheapest = cost + costs_.least_permute(0, space_.sharded(to));
  if (cheapest == kInfinite || cheapest > most_) return;
  if (alike_.empty()) list_alike();
  const Cuts cuts = cuts_of(to);
  const auto own = alike_.find(cuts);
  if (own == alike_.end() || own->second.is_met) return;
  own->second.is_met = true;
  for (const auto& [others, alike] : alike_) {
    if (!may_be_equal(cuts, others)) continue;
    const AxisSet changed = (cuts.sharded ^ others.sharded) | (cuts.partial ^ others.partial);
    const double permuted = cost + costs_.least_permute(changed, others.sharded);
    for (const Pattern& from : alike.patterns) {
      if (is_news(from, permuted)) reach(from, permuted);
    }
  }
}

CostEstimate::Cuts CostEstimate::cuts_of(const Pattern& pattern) const {
  Cuts cuts;
  cuts.sharded = space_.sharded(pattern);
  cuts.partial = space_.partial(pattern);
  cuts.parts = costs_.parts(cuts.sharded);
  cuts.terms = costs_.parts(cuts.partial);
  for (AxisSet rest = all_; rest != 0; rest &= rest - 1) {
    const AxisSet axis = rest & (~rest + 1);
    const std::uint32_t dims = space_.dims(pattern, axis);
    if (dims != 0)
      cuts.pieces[static_cast<std::size_t>(std::countr_zero(dims))] *= costs_.parts(axis);
  }
  return cuts;
}

bool CostEstimate::may_be_equal(const Cuts& a, const Cuts& b) {
  if (a.parts != b.parts || a.terms != b.terms) return false;
  std::int64_t known = 1;
  for (std::size_t dim = 0; dim < a.pieces.size(); ++dim)
    known *= std::lcm(a.pieces[dim], b.pieces[dim]);
  return a.parts % known == 0;
}

void CostEstimate::list_alike() {
  const auto add_sharded = [&](AxisSet shards) {
    space_.for_each_sharded(Pattern(), shards, [&](const Pattern& sharded) {
      if (!space_.is_possible(sharded)) return;
      const auto add_partial = [&](AxisSet partial) {
        space_.for_each_partial(sharded, partial, [&](const Pattern& pattern) {
          alike_[cuts_of(pattern)].patterns.push_back(pattern);
        });
      };
      add_partial(0);
      if (any_partial_) for_each_part(all_ & ~shards, true, add_partial);
    });
  };
  add_sharded(0);
  for_each_part(all_, true, add_sharded);
}

}  // namespace shardwright::redistribution
