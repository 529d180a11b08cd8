#include "search/embedding/partitioners/greedy_perf.h"

#include <algorithm>

namespace shardwright::embedding {

bool GreedyPerfPartitioner::partition(std::span<const OptionId> proposal, const GroupOrder& order,
                                      Placement& placement, std::int64_t hbm_per_device) {
  failed_position_ = GroupOrder::kNone;
  placement.reset(hbm_per_device);
  if (!placement.place_uniform(proposal)) return false;
  for (const GroupOrder::Group& group : order.groups()) {
    if (!place(proposal, order, group, placement)) {
      failed_position_ = group.first_position;
      return false;
    }
  }
  return true;
}

bool GreedyPerfPartitioner::place(std::span<const OptionId> proposal, const GroupOrder& order,
                                  const GroupOrder::Group& group, Placement& placement) {
  const OptionRow& first = placement.pool().row(group.option);
  switch (first.partition_by) {
    case PartitionBy::kDevice:
      return order.next_member(group.first_position) == GroupOrder::kNone &&
             placement.place_on_devices(first);
    case PartitionBy::kMultiHost:
      return order.next_member(group.first_position) == GroupOrder::kNone &&
             placement.place_on_hosts(first);
    case PartitionBy::kHost:
      break;
    case PartitionBy::kUniform:
      return false;
  }
  members_.clear();
  for (std::uint32_t at = group.first_position; at != GroupOrder::kNone; at = order.next_member(at)) {
    members_.push_back(proposal[at]);
  }
  return placement.place_on_host(members_, {Bytes(group.hbm_bytes), Bytes(group.ddr_bytes)});
}

namespace {

// Calls add(rank, cost) for every shard, options in proposal order.
template <class Add>
void for_each_shard(std::span<const OptionId> proposal, const Placement& placement, const Add& add) {
  const OptionPool& pool = placement.pool();
  for (const OptionId id : proposal) {
    const OptionRow& row = pool.row(id);
    const auto costs = pool.costs(row);
    const std::uint32_t* counts = pool.run_counts(row);
    const bool uniform = row.partition_by == PartitionBy::kUniform;
    const Rank* ranks = uniform ? nullptr : placement.ranks(row).data();
    std::uint32_t shard = 0;
    for (std::size_t run = 0; run < costs.size(); ++run) {
      for (std::uint32_t k = 0; k < counts[run]; ++k, ++shard) {
        add(uniform ? shard : ranks[shard], costs[run]);
      }
    }
  }
}

}  // namespace

double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank) {
  std::fill(perf_by_rank.begin(), perf_by_rank.end(), 0.0);
  for_each_shard(proposal, placement, [&](std::uint32_t rank, const RunCost& cost) {
    perf_by_rank[rank] += cost.total_ms;
  });
  return *std::max_element(perf_by_rank.begin(), perf_by_rank.end());
}

double rate_storage(std::span<const OptionId> proposal, const Placement& placement,
                    std::vector<std::int64_t>& hbm_by_rank) {
  std::fill(hbm_by_rank.begin(), hbm_by_rank.end(), 0);
  for_each_shard(proposal, placement, [&](std::uint32_t rank, const RunCost& cost) {
    hbm_by_rank[rank] += cost.hbm_bytes;
  });
  return static_cast<double>(*std::max_element(hbm_by_rank.begin(), hbm_by_rank.end()));
}

}  // namespace shardwright::embedding
