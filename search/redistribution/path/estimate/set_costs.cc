#include "search/redistribution/path/estimate/set_costs.h"

#include <algorithm>
#include <limits>

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

constexpr double kImpossible = std::numeric_limits<double>::infinity();
constexpr double kUnknown = -1;
// Sums are rounded; a little less is a bound all the same.
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

// `left`: the axes that shard dimensions from `dim` on. `held`: the elements of the largest piece
// of the dimensions before.
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

}  // namespace shardwright::redistribution
