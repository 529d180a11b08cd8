// The greedy partitioner: what is uniform first, then the largest group to the least loaded place.
#pragma once

#include <span>
#include <vector>

#include "search/embedding/partitioners/group_order.h"
#include "search/embedding/partitioners/placement.h"

namespace shardwright::embedding {

// Places a proposal whose groups are in `order`. False where something does not fit; then
// `failed_position` tells what (kNone = the uniform options).
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py.
class GreedyPerfPartitioner {
 public:
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
                 std::int64_t hbm_per_device = 0);

  std::uint32_t failed_position() const { return failed_position_; }

 private:
  bool place(std::span<const OptionId> proposal, const GroupOrder& order,
             const GroupOrder::Group& group, Placement& placement);

  std::uint32_t failed_position_ = GroupOrder::kNone;
  std::vector<OptionId> members_;
};

// Time of the busiest rank: shard totals per rank in proposal order. `perf_by_rank` is scratch of
// one double per rank. Source: NoopPerfModel, torchrec/distributed/planner/perf_models.py.
double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank);

// HBM of the fullest rank in bytes, of a proposal just placed. Source: NoopStorageModel.
double rate_storage(std::span<const OptionId> proposal, const Placement& placement,
                    std::vector<std::int64_t>& hbm_by_rank);

}  // namespace shardwright::embedding
