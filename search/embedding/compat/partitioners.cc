#include "search/embedding/compat/partitioners.h"

#include <algorithm>

#include "core/numeric/exact_mean.h"
#include "search/embedding/compat/rating.h"

namespace shardwright::embedding {

std::unique_ptr<Partitioner> make_partitioner(const PartitionerSpec& spec) {
  switch (spec.type) {
    case PartitionerSpec::Type::kGreedy:
      return std::make_unique<GreedyPerfPartitioner>(spec.sort_by);
    case PartitionerSpec::Type::kMemoryBalanced:
      return std::make_unique<MemoryBalancedPartitioner>(spec);
  }
  return nullptr;
}

namespace {

// Groups per step.
constexpr std::size_t kMaxPlain = 64;

}  // namespace

void GreedyPerfPartitioner::start(std::span<const OptionId> proposal, const GroupOrder& order,
                                  Placement& placement, std::int64_t hbm_per_device) {
  proposal_ = proposal;
  order_ = &order;
  placement_ = &placement;
  failed_position_ = GroupOrder::kNone;
  placement.reset(hbm_per_device);
  feasible_ = !order.has_uniform() || placement.place_uniform(proposal);
  groups_ = feasible_ ? order.groups() : std::span<const GroupOrder::Group>();
  next_ = 0;
}

std::span<const GroupOrder::Group> GreedyPerfPartitioner::next_plain(std::size_t limit) const {
  const auto next = groups_.subspan(next_, std::min(limit, groups_.size() - next_));
  std::size_t plain = 0;
  while (plain < next.size() && next[plain].num_shards > 0)
    ++plain;
  return next.first(plain);
}

void GreedyPerfPartitioner::step() {
  const auto plain = next_plain(kMaxPlain);
  if (plain.empty()) {
    advance(place(groups_[next_]) ? 1 : 0, 1);
  } else {
    advance(placement_->place_plain(plain), plain.size());
  }
}

void GreedyPerfPartitioner::step_together(GreedyPerfPartitioner& a, GreedyPerfPartitioner& b) {
  const auto plain_a = a.next_plain(kMaxPlain);
  const auto plain_b = b.next_plain(kMaxPlain);
  const std::size_t both = std::min(plain_a.size(), plain_b.size());
  if (both == 0) {
    a.step();
    b.step();
    return;
  }
  const auto [placed_a, placed_b] = Placement::place_plain_together(
      *a.placement_, plain_a.first(both), *b.placement_, plain_b.first(both));
  a.advance(placed_a, both);
  b.advance(placed_b, both);
}

// Advances by `wanted` groups, of which the first `placed` fitted. If not all did, the proposal
// failed.
void GreedyPerfPartitioner::advance(std::size_t placed, std::size_t wanted) {
  next_ += placed;
  if (placed == wanted) return;
  feasible_ = false;
  failed_position_ = groups_[next_].first_position;
  next_ = groups_.size();
}

bool GreedyPerfPartitioner::place(const GroupOrder::Group& group) {
  const OptionRow& first = placement_->pool().row(proposal_[group.first_position]);
  if (first.partition_by == PartitionBy::kHost) return place_on_host(group);
  // Tables of one dependency must share a host.
  if (order_->next_member(group.first_position) != GroupOrder::kNone) return false;
  switch (first.partition_by) {
    case PartitionBy::kDevice:
      return placement_->place_on_devices(first);
    case PartitionBy::kMultiHost:
      return placement_->place_on_hosts(first);
    case PartitionBy::kHost:     // handled above
    case PartitionBy::kUniform:  // in no group: start() places these
      break;
  }
  return false;
}

bool GreedyPerfPartitioner::place_on_host(const GroupOrder::Group& group) {
  members_.clear();
  for (std::uint32_t at = group.first_position; at != GroupOrder::kNone;
       at = order_->next_member(at)) {
    members_.push_back(proposal_[at]);
  }
  return placement_->place_on_host(members_, order_->storage(group));
}

namespace {

// Bisection ends when the range has at most this many bytes.
constexpr std::int64_t kResolution = 10 * kMebibyte;

// Returns the average HBM per device, or the largest shard's HBM if this is larger. Rounds the
// quotient to a double, then truncates it, as Python does. Source: the lower bound in
// MemoryBalancedPartitioner.partition.
std::int64_t least_hbm_per_device(std::span<const OptionId> proposal, const OptionPool& pool,
                                  std::uint32_t world_size) {
  WideUnsigned total = 0;
  std::int64_t largest = 0;
  for (const OptionId id : proposal) {
    total += static_cast<WideUnsigned>(pool.row(id).storage.hbm.value());
    largest = std::max(largest, pool.row(id).max_storage.hbm.value());
  }
  return std::max(static_cast<std::int64_t>(true_divide(total, world_size)), largest);
}

}  // namespace

bool MemoryBalancedPartitioner::partition(std::span<const OptionId> proposal,
                                          const GroupOrder& order, Placement& placement) {
  const std::uint32_t world_size = placement.num_devices();
  perf_by_rank_.resize(world_size);
  hbm_by_rank_.resize(world_size);
  if (!greedy_.partition(proposal, order, placement)) return false;
  const double original = rate_perf(proposal, placement, perf_by_rank_);
  best_ranks_.assign(placement.all_ranks().begin(), placement.all_ranks().end());

  auto high = static_cast<std::int64_t>(rate_storage(proposal, placement, hbm_by_rank_));
  std::int64_t low = least_hbm_per_device(proposal, placement.pool(), world_size);
  for (std::int64_t i = 0; i < spec_.max_search_count && low + kResolution < high; ++i) {
    const std::int64_t middle = (high + low) / 2;
    const bool accepted =
        greedy_.partition(proposal, order, placement, middle) &&
        !(rate_perf(proposal, placement, perf_by_rank_) > original * (1 + spec_.tolerance));
    if (accepted) {
      std::copy(placement.all_ranks().begin(), placement.all_ranks().end(), best_ranks_.begin());
      high = middle;
    } else {
      low = middle;
    }
  }
  placement.restore_ranks(best_ranks_);
  return true;
}

}  // namespace shardwright::embedding
