#include "search/redistribution/cost_estimate.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace shardwright::redistribution {
namespace {

AxisSet set_of(std::size_t axis) { return AxisSet{1} << axis; }

// Returns the axes that are not replicated and equal in both placements.
AxisSet equal_axes(const Placement& a, const Placement& b, std::size_t num_axes) {
  const std::uint64_t differing = a.code() ^ b.code();
  AxisSet equal = 0;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (!a.is_replicate(axis) && (differing >> (8 * axis) & 0xff) == 0) equal |= set_of(axis);
  }
  return equal;
}

}  // namespace

PatternSpace::End::End(const Placement& end, std::size_t num_axes)
    : placement(end), sets(std::size_t{1} << num_axes, SetFacts{true, 0}) {
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    if (end.is_partial(axis)) partial |= set_of(axis);
    if (!end.is_shard(axis)) continue;
    shards |= set_of(axis);
    for (std::size_t other = 0; other < num_axes; ++other) {
      if (end.is_shard(other) && end.dim(other) == end.dim(axis) &&
          end.index(other) < end.index(axis)) {
        outside[axis] |= set_of(other);
      }
    }
  }
  for (AxisSet set = 1; set < sets.size(); ++set) {
    const auto axis = static_cast<std::size_t>(std::countr_zero(set));
    sets[set] = sets[set & (set - 1)];
    sets[set].is_closed = aligned(set) == set;
    if (!end.is_shard(axis)) continue;
    sets[set].dims |= std::uint32_t{1} << end.dim(axis);
  }
}

AxisSet PatternSpace::End::aligned(AxisSet equal) const {
  AxisSet found = 0;
  for (AxisSet rest = equal; rest != 0; rest &= rest - 1) {
    const auto axis = static_cast<std::size_t>(std::countr_zero(rest));
    if ((outside[axis] & ~equal) == 0) found |= set_of(axis);
  }
  return found;
}

PatternSpace::PatternSpace(std::size_t num_axes, const Placement& source, const Placement& target,
                           bool groups)
    : num_axes_(num_axes),
      target_(target, num_axes),
      source_(source, num_axes),
      digits_(std::size_t{1} << num_axes),
      size_(1) {
  const bool any_partial = source.has_partial() || target.has_partial();
  const std::size_t kinds = !groups ? 4 : any_partial ? 6 : 5;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    for (AxisSet set = set_of(axis); set < set_of(axis + 1); ++set)
      digits_[set] = digits_[set ^ set_of(axis)] + size_;
    size_ *= kinds;
    if (groups && target_.outside[axis] != 0) may_be_astray_ |= set_of(axis);
  }
  common_ = source_.shards & target_.aligned(equal_axes(source, target, num_axes));
  if (groups && any_partial) moved_partial_ = set_of(num_axes) - 1;
}

Pattern PatternSpace::pattern_of(const Placement& at) const {
  Pattern pattern;
  pattern.as_target = target_.aligned(equal_axes(at, target_.placement, num_axes_));
  pattern.as_source =
      source_.aligned(equal_axes(at, source_.placement, num_axes_)) & ~pattern.as_target;
  for (std::size_t axis = 0; axis < num_axes_; ++axis) {
    if (at.is_replicate(axis) || ((pattern.any() >> axis) & 1) != 0) continue;
    if (at.is_partial(axis)) {
      pattern.partial |= set_of(axis);
    } else if ((may_be_astray_ >> axis & 1) != 0 && at.dim(axis) == target_.placement.dim(axis)) {
      pattern.astray |= set_of(axis);
    } else {
      pattern.elsewhere |= set_of(axis);
    }
  }
  return pattern;
}

namespace {

using Kind = Move::Kind;

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr double kUnknown = -1;
// Factor that lowers costs a little, so that they remain lower bounds despite rounding.
constexpr double kBelow = 1 - 1e-12;

bool takes_shards(Kind kind) { return kind == Kind::kAllGather || kind == Kind::kAllToAll; }
bool makes_shards(Kind kind) {
  return kind == Kind::kAllToAll || kind == Kind::kSplit || kind == Kind::kReduceScatter;
}

}  // namespace

SetCosts::SetCosts(const TensorOnMesh& tensor, const StepCosts& costs)
    : tensor_(tensor),
      costs_(costs),
      elements_(num_elements(tensor.shape)),
      digits_(std::size_t{1} << tensor.mesh.size()) {
  std::size_t power = 1;
  for (std::size_t axis = 0; axis < tensor.mesh.size(); ++axis, power *= 3) {
    const std::size_t first = std::size_t{1} << axis;
    for (std::size_t set = first; set < 2 * first; ++set)
      digits_[set] = digits_[set ^ first] + power;
  }
  table_size_ = power;
  table_.resize(static_cast<std::size_t>(Kind::kPermute) * power, kUnknown);
}

double SetCosts::least(Kind kind, AxisSet axes, AxisSet sharded) {
  double& known = table_[static_cast<std::size_t>(kind) * table_size_ + index_of(axes, sharded)];
  if (known < 0) known = price(kind, axes, sharded);
  return known;
}

double SetCosts::least_exchange(AxisSet axes, AxisSet sharded, bool groups) {
  double least_of_all = least(Kind::kAllToAll, axes, sharded);
  if (!groups) return least_of_all;
  if (exchanges_.empty()) exchanges_.resize(table_size_, kUnknown);
  double& known = exchanges_[index_of(axes, sharded)];
  if (known >= 0) return known;
  for_each_part(sharded & ~axes, groups, [&](AxisSet more) {
    least_of_all = std::min(least_of_all, least(Kind::kAllToAll, axes | more, sharded));
  });
  return known = least_of_all;
}

double SetCosts::least_permute(AxisSet axes, AxisSet sharded) {
  const auto [at, fresh] = permutes_.try_emplace({axes, sharded}, kImpossible);
  if (!fresh) return at->second;
  if ((axes & (axes - 1)) != 0) return at->second = price(Kind::kPermute, axes, sharded);
  for (std::size_t a = 0; a < tensor_.mesh.size(); ++a) {
    for (std::size_t b = a + 1; b < tensor_.mesh.size(); ++b) {
      const AxisSet pair = AxisSet{1} << a | AxisSet{1} << b;
      if (tensor_.mesh[a] == 1 || tensor_.mesh[b] == 1 || (axes & ~pair) != 0) continue;
      at->second = std::min(at->second, price(Kind::kPermute, pair, sharded));
    }
  }
  return at->second;
}

double SetCosts::price(Kind kind, AxisSet axes, AxisSet sharded) {
  Move move;
  move.kind = kind;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    if ((axes >> axis & 1) != 0) move.axes.push_back(static_cast<std::uint8_t>(axis));
  }
  AxisSet after = sharded;
  if (takes_shards(kind)) after &= ~axes;
  if (makes_shards(kind)) after |= axes;
  if (kind == Kind::kAllToAll) {
    if (tensor_.shape.size() < 2) return kImpossible;
    move.to = 1;
  }
  const std::int64_t before_held = least_held(sharded);
  const std::int64_t after_held = least_held(after);
  if (costs_.is_monotone())
    return kBelow * costs_.cost({move, before_held, after_held, parts(sharded)});
  const bool grows = kind == Kind::kAllGather;
  double least = kImpossible;
  for (const std::int64_t most : all_held(grows ? after : sharded)) {
    least = std::min(least, costs_.cost({move, grows ? before_held : most,
                                         grows ? most : after_held, parts(sharded)}));
  }
  return kBelow * least;
}

std::int64_t SetCosts::parts(AxisSet axes) const {
  std::int64_t parts = 1;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
    parts *= (axes >> axis & 1) != 0 ? tensor_.mesh[axis] : 1;
  return parts;
}

std::int64_t SetCosts::least_held(AxisSet sharded) const {
  const std::int64_t devices = parts(sharded);
  return (elements_ + devices - 1) / devices;
}

const std::vector<std::int64_t>& SetCosts::all_held(AxisSet sharded) {
  if (held_.empty()) held_.resize(digits_.size());
  std::vector<std::int64_t>& all = held_[sharded];
  if (!all.empty()) return all;
  add_held(0, sharded, 1, all);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Adds the possible numbers of elements of the largest device to `all`. `left`: the axes that shard
// dimension `dim` or later ones. `held`: the product of the largest extents before `dim`.
void SetCosts::add_held(std::size_t dim, AxisSet left, std::int64_t held,
                        std::vector<std::int64_t>& all) const {
  if (dim == tensor_.shape.size()) {
    if (left == 0) all.push_back(held);
    return;
  }
  const bool is_last = dim + 1 == tensor_.shape.size();
  const auto add = [&](AxisSet axes) {
    const std::int64_t pieces = parts(axes);
    add_held(dim + 1, left & ~axes, held * ((tensor_.shape[dim] + pieces - 1) / pieces), all);
  };
  if (is_last) {
    add(left);
    return;
  }
  add(0);
  for_each_part(left, true, add);
}

namespace {

using Kind = Move::Kind;

constexpr double kNoEstimate = std::numeric_limits<double>::infinity();

bool is_one(std::uint32_t set) { return (set & (set - 1)) == 0; }  // also true for none

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
    if (heap_.empty()) return kNoEstimate;
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

// Considers the moves to `to` that made `axes` replicated: gathers and reductions.
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

// Considers the moves to `to` that made `axes` sharded: exchanges, reduce-scatters and slices.
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

// Considers the moves to `to` that made a replicated axis partial.
void CostEstimate::before_partial(const Pattern& to, double cost) {
  for_each_part(to.as_target & ~space_.sharded(to), false, [&](AxisSet axis) {
    const Pattern from = without(to, axis);
    const double made = cost + costs_.least(Kind::kToPartial, axis, space_.sharded(to));
    if (is_news(from, made)) reach(from, made);
  });
}

// Considers the permutations of devices that lead to `to`. Patterns with the same cuts have the
// same permutations, so only the pattern that is settled first, the cheapest, is expanded.
void CostEstimate::before_permutes(const Pattern& to, double cost) {
  const double cheapest = cost + costs_.least_permute(0, space_.sharded(to));
  if (cheapest == kNoEstimate || cheapest > most_) return;
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
