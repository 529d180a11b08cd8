#include "search/embedding/partitioners/greedy_perf.h"

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
  const GroupOrder::Group& group = groups_[next_++];
  if (place(group)) return;
  feasible_ = false;
  failed_position_ = group.first_position;
  next_ = groups_.size();
}

bool GreedyPerfPartitioner::place(const GroupOrder::Group& group) {
  if (group.num_shards > 0) {
    return placement_->place_on_devices(placement_->pool().cost(group.run), group.num_shards,
                                        group.rank_slot);
  }
  const OptionRow& first = placement_->pool().row(group.option);
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
  return placement_->place_on_host(members_, {Bytes(group.hbm_bytes), Bytes(group.ddr_bytes)});
}

}  // namespace shardwright::embedding
