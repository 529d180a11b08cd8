#include "search/embedding/partitioners/greedy_perf.h"

#include <algorithm>

namespace shardwright::embedding {

void GreedyPerfPartitioner::start(std::span<const OptionId> proposal, const GroupOrder& order,
                                  Placement& placement, std::int64_t hbm_per_device) {
  proposal_ = proposal;
  order_ = &order;
  placement_ = &placement;
  failed_position_ = GroupOrder::kNone;
  placement.reset(hbm_per_device);
  feasible_ = placement.place_uniform(proposal);
  groups_ = feasible_ ? order.groups() : std::span<const GroupOrder::Group>();
  next_ = 0;
}

void GreedyPerfPartitioner::step() {
  // Plain groups are placed several at once, so that a step is worth its call.
  constexpr std::size_t kMaxPlain = 8;
  const auto groups = groups_.subspan(next_, std::min(kMaxPlain, groups_.size() - next_));
  const std::size_t plain = static_cast<std::size_t>(
      std::find_if(groups.begin(), groups.end(),
                   [](const GroupOrder::Group& group) { return group.num_shards == 0; }) -
      groups.begin());
  const std::size_t wanted = std::max<std::size_t>(plain, 1);
  const std::size_t placed =
      plain > 0 ? placement_->place_plain(groups.first(plain)) : place(groups.front()) ? 1 : 0;
  next_ += placed;
  if (placed == wanted) return;
  feasible_ = false;
  failed_position_ = groups_[next_].first_position;
  next_ = groups_.size();
}

bool GreedyPerfPartitioner::place(const GroupOrder::Group& group) {
  const OptionRow& first = placement_->pool().row(proposal_[group.first_position]);
  if (first.partition_by == PartitionBy::kHost) return place_on_host(group);
  // Tables of one dependency go to one host or nowhere.
  if (order_->next_member(group.first_position) != GroupOrder::kNone) return false;
  return first.partition_by == PartitionBy::kDevice ? placement_->place_on_devices(first)
                                                    : placement_->place_on_hosts(first);
}

bool GreedyPerfPartitioner::place_on_host(const GroupOrder::Group& group) {
  members_.clear();
  for (std::uint32_t at = group.first_position; at != GroupOrder::kNone; at = order_->next_member(at)) {
    members_.push_back(proposal_[at]);
  }
  return placement_->place_on_host(members_, order_->storage(group));
}

}  // namespace shardwright::embedding
