#include "search/embedding/best/local/pair_balancer.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {
namespace {

ShardUse sum(const ShardUse& a, const ShardUse& b) {
  return {a.load + b.load, a.hbm_bytes + b.hbm_bytes, a.ddr_bytes + b.ddr_bytes};
}

ShardUse difference(const ShardUse& a, const ShardUse& b) {
  return {a.load - b.load, a.hbm_bytes - b.hbm_bytes, a.ddr_bytes - b.ddr_bytes};
}

// Rules that depend on where other shards are keep a shard out of it.
bool may_swap(const AllocationState& loads, const ShardUse& use, Rank other) {
  if (use.table == ShardUse::kUnruled) return true;
  const RankSet* const allowed = loads.rules().allowed(use.table, use.shard);
  return loads.rules().alone(use.table) && (allowed == nullptr || allowed->contains(other));
}

}  // namespace

PairBalancer::PairBalancer() {
  left_.reserve(std::size_t{1} << kHalf);
  right_.reserve(std::size_t{1} << kHalf);
}

void PairBalancer::collect(const AllocationState& loads, Rank rank, Rank other) {
  const std::uint32_t local = loads.model().local_world_size();
  for (const std::uint32_t slot : loads.shards_on(rank)) {
    const Reach reach = loads.reach(loads.slot(slot).table);
    if (!may_swap(loads, loads.slot(slot).use, other)) continue;
    if (reach == Reach::kDevice || (reach == Reach::kHost && rank / local == other / local))
      slots_.push_back(slot);
  }
}

void PairBalancer::sum_subsets(const AllocationState& loads, std::size_t begin, std::size_t end,
                               std::vector<Subset>& subsets) {
  subsets.assign(1, {});
  for (std::size_t i = begin; i < end; ++i) {
    const std::size_t size = subsets.size();
    for (std::size_t k = 0; k < size; ++k) {
      subsets.push_back({sum(subsets[k].use, loads.slot(slots_[i]).use),
                         subsets[k].members | (std::uint32_t{1} << i)});
    }
  }
  std::sort(subsets.begin(), subsets.end(), [](const Subset& x, const Subset& y) {
    return x.use.load != y.use.load ? x.use.load < y.use.load : x.members < y.members;
  });
  work_ += 2 * subsets.size();
}

// The members that go to a; nothing where no division is better than the one there is.
bool PairBalancer::find(const AllocationState& loads, Rank a, Rank b, const ShardUse& free_on_a,
                        std::uint32_t& members) {
  const RankLoad& at_a = loads.ranks()[a];
  const RankLoad& at_b = loads.ranks()[b];
  const double scale_a = loads.model().time_scale(a);
  const double scale_b = loads.model().time_scale(b);
  const double both = at_a.load / scale_a + at_b.load / scale_b;
  const double fixed_on_a = at_a.load / scale_a - free_on_a.load;
  const double even = both * scale_b / (scale_a + scale_b);
  double least = std::max(at_a.load, at_b.load) * (1 - 1e-12);
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

bool PairBalancer::improve(AllocationState& loads, Rank a, Rank b, RandomGenerator& draws) {
  slots_.clear();
  collect(loads, a, b);
  collect(loads, b, a);
  const std::size_t count = std::min(slots_.size(), 2 * kHalf);
  if (count < 2) return false;
  ShardUse free_on_a;
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(slots_[i], slots_[i + draws.below(slots_.size() - i)]);
    const Slot& slot = loads.slot(slots_[i]);
    if (slot.rank == a) free_on_a = sum(free_on_a, slot.use);
  }
  sum_subsets(loads, 0, count / 2, left_);
  sum_subsets(loads, count / 2, count, right_);
  std::uint32_t members = 0;
  if (!find(loads, a, b, free_on_a, members)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Slot& slot = loads.slot(slots_[i]);
    const Rank target = (members >> i & 1) != 0 ? a : b;
    if (slot.rank == target) continue;
    loads.remove(slot.rank, slot.use);
    loads.add(target, slot.use);
    loads.note_rank(slots_[i], target);
  }
  loads.keep();
  return true;
}

}  // namespace shardwright::embedding
