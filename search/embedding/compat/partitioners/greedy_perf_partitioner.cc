#include "search/embedding/compat/partitioners/greedy_perf_partitioner.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

// Groups per step: enough that the cost of the call does not matter.
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

// The first `placed` of `wanted` groups fitted.
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

}  // namespace shardwright::embedding
