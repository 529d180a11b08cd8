#include "search/embedding/best/pair_balancer.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

constexpr double kRounding = 1e-12;  // relative, of sums over the shards of two ranks

ShardUse sum(const ShardUse& a, const ShardUse& b) {
  return {a.load + b.load, a.storage + b.storage};
}

ShardUse difference(const ShardUse& a, const ShardUse& b) {
  return {a.load - b.load, a.storage - b.storage};
}

// Returns true if rules allow the shard on the other rank, regardless of other shards.
bool may_go(const AllocationState& state, const ShardUse& use, Rank other) {
  if (use.table == ShardUse::kUnruled) return true;
  const RankSet* const allowed = state.rules().allowed(use.table, use.shard);
  return state.rules().alone(use.table) && (allowed == nullptr || allowed->contains(other));
}

}  // namespace

PairBalancer::PairBalancer()
    : most_shards_(2 * static_cast<std::size_t>(std::countr_zero(BalanceParameters::kSubsets))) {
  left_.reserve(BalanceParameters::kSubsets);
  right_.reserve(BalanceParameters::kSubsets);
}

void PairBalancer::collect(const AllocationState& state, Rank rank, Rank other) {
  const std::uint32_t local = state.model().local_world_size();
  for (const std::uint32_t slot : state.shards_on(rank)) {
    const Reach reach = state.reach(state.slot(slot).table);
    if (!may_go(state, state.slot(slot).use, other)) continue;
    if (reach == Reach::kDevice || (reach == Reach::kHost && rank / local == other / local))
      slots_.push_back(slot);
  }
}

void PairBalancer::sum_subsets(const AllocationState& state, std::size_t begin, std::size_t end,
                               std::vector<Subset>& subsets) {
  const auto is_before = [](const Subset& x, const Subset& y) {
    return x.use.load != y.use.load ? x.use.load < y.use.load : x.members < y.members;
  };
  subsets.assign(1, {});
  for (std::size_t i = begin; i < end; ++i) {
    const ShardUse& next = state.slot(slots_[i]).use;
    std::size_t without = subsets.size();  // subsets without the shard, not merged yet
    std::size_t with = without;            // subsets with the shard, not merged yet
    subsets.resize(2 * without);
    while (with > 0) {
      const Subset& subset = subsets[with - 1];
      const Subset more{sum(subset.use, next), subset.members | (std::uint32_t{1} << i)};
      Subset& last = subsets[without + with - 1];
      if (without > 0 && is_before(more, subsets[without - 1])) {
        last = subsets[--without];
      } else {
        last = more;
        --with;
      }
    }
  }
  work_ += 2 * subsets.size();
}

// Sets `members` to the shards that go to rank `a`. Returns false if no distribution is better.
bool PairBalancer::find(const AllocationState& state, Rank a, Rank b, const ShardUse& free_on_a,
                        std::uint32_t& members) {
  const RankLoad& at_a = state.ranks()[a];
  const RankLoad& at_b = state.ranks()[b];
  const double scale_a = state.model().time_scale(a);
  const double scale_b = state.model().time_scale(b);
  const double both = at_a.load / scale_a + at_b.load / scale_b;
  const double fixed_on_a = at_a.load / scale_a - free_on_a.load;
  const double even = both * scale_b / (scale_a + scale_b);
  double least = std::max(at_a.load, at_b.load) * (1 - kRounding);
  bool found = false;
  std::size_t j = right_.size() - 1;
  const auto try_one = [&](const Subset& x, const Subset& y) {
    const double load = fixed_on_a + x.use.load + y.use.load;
    const double largest = std::max(scale_a * load, scale_b * (both - load));
    if (largest >= least) return;
    const ShardUse to_a = difference(sum(x.use, y.use), free_on_a);
    const ShardUse to_b = difference(ShardUse{}, to_a);
    if (!at_a.has_room_for(to_a) || !at_b.has_room_for(to_b)) return;
    least = largest;
    members = x.members | y.members;
    found = true;
  };
  for (const Subset& x : left_) {
    while (j > 0 && fixed_on_a + x.use.load + right_[j].use.load > even) {
      try_one(x, right_[j]);
      --j;
    }
    try_one(x, right_[j]);
  }
  work_ += left_.size() + right_.size();
  return found;
}

bool PairBalancer::improve(AllocationState& state, Rank a, Rank b, RandomGenerator& random) {
  slots_.clear();
  collect(state, a, b);
  collect(state, b, a);
  const std::size_t count = std::min(slots_.size(), most_shards_);
  if (count < 2) return false;
  ShardUse free_on_a;
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(slots_[i], slots_[i + random.below(slots_.size() - i)]);
    const Slot& slot = state.slot(slots_[i]);
    if (slot.rank == a) free_on_a = sum(free_on_a, slot.use);
  }
  sum_subsets(state, 0, count / 2, left_);
  sum_subsets(state, count / 2, count, right_);
  std::uint32_t members = 0;
  if (!find(state, a, b, free_on_a, members)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = state.slot(slots_[i]);
    const Rank target = (members >> i & 1) != 0 ? a : b;
    if (slot.rank == target) continue;
    state.remove(slot.rank, slot.use);
    state.add(target, slot.use);
    state.note_rank(slots_[i], target);
  }
  state.keep();
  return true;
}

}  // namespace shardwright::embedding
