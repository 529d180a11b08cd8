// TorchRec's MemoryBalancedPartitioner: the least HBM per device at nearly the same rating.
#pragma once

#include <span>
#include <vector>

#include "search/embedding/compat/partitioners/greedy_perf_partitioner.h"

namespace shardwright::embedding {

// Places greedily by time, then bisects for the smallest HBM limit per device whose plan still
// rates within the tolerance of the first plan. The ranks of the accepted plan are left in the
// placement.
// Source: MemoryBalancedPartitioner, torchrec/distributed/planner/partitioners.py (commit
// a48cef79).
class MemoryBalancedPartitioner final : public Partitioner {
 public:
  explicit MemoryBalancedPartitioner(const PartitionerSpec& spec) : spec_(spec) {}

  PartitionerSpec::SortBy sort_by() const override { return PartitionerSpec::SortBy::kPerf; }
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                 Placement& placement) override;

  std::uint32_t failed_position() const { return greedy_.failed_position(); }

 private:
  PartitionerSpec spec_;
  GreedyPerfPartitioner greedy_;
  std::vector<double> perf_by_rank_;
  std::vector<std::int64_t> hbm_by_rank_;
  std::vector<Rank> best_ranks_;
};

}  // namespace shardwright::embedding
