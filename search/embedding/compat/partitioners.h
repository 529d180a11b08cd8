// The interface of partitioners, which choose a rank for every shard of a proposal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/placement.h"

namespace shardwright::embedding {

// Places whole proposals. Every worker has its own partitioner and passes it many proposals.
// Thread safety: none; one per worker.
class Partitioner {
 public:
  virtual ~Partitioner() = default;

  // The key by which the groups in `order` must be sorted for partition().
  virtual PartitionerSpec::SortBy sort_by() const = 0;

  // Calls placement.reset(), then places the uniform options and every group through the
  // placement's functions, which keep ranks, loads and memory. Returns false if something does not
  // fit. Must give the same placement for the same proposal, independent of earlier proposals.
  virtual bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                         Placement& placement) = 0;
};

// Returns the partitioner that `spec` names.
std::unique_ptr<Partitioner> make_partitioner(const PartitionerSpec& spec);

// Places the groups of a proposal in the order of GroupOrder, a few groups per step, so that a
// worker can advance two proposals at once. Placement::place_run() picks the rank of a shard: of
// the ranks on which the shard fits, the rank of least time; ties go by rank in host, then by host.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py (commit a48cef79).
// Thread safety: none; one per worker.
class GreedyPerfPartitioner final : public Partitioner {
 public:
  explicit GreedyPerfPartitioner(
      PartitionerSpec::SortBy sort_by = PartitionerSpec::SortBy::kStorage)
      : sort_by_(sort_by) {}

  PartitionerSpec::SortBy sort_by() const override { return sort_by_; }
  // Empties the devices and places the uniform options. The arguments must not change until the
  // last step. If `hbm_per_device` (bytes) is not 0, it replaces the HBM of every device.
  void start(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
             std::int64_t hbm_per_device = 0);
  // Returns true if a step is left.
  bool running() const { return next_ < groups_.size(); }
  // Places the next groups. Precondition: running().
  void step();
  // Makes one step of each partitioner. Precondition: both are running, on different placements.
  static void step_together(GreedyPerfPartitioner& a, GreedyPerfPartitioner& b);
  // Returns true if everything fitted so far.
  bool feasible() const { return feasible_; }

  // Calls start() and makes all steps. Returns true if everything fits.
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                 Placement& placement) override {
    return partition(proposal, order, placement, 0);
  }
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
                 std::int64_t hbm_per_device) {
    start(proposal, order, placement, hbm_per_device);
    while (running())
      step();
    return feasible_;
  }

  // The position of the group that did not fit; kNone if the uniform options did not fit.
  std::uint32_t failed_position() const { return failed_position_; }

 private:
  // Returns the next plain groups, at most `limit`.
  std::span<const GroupOrder::Group> next_plain(std::size_t limit) const;
  void advance(std::size_t placed, std::size_t wanted);
  bool place(const GroupOrder::Group& group);
  bool place_on_host(const GroupOrder::Group& group);

  PartitionerSpec::SortBy sort_by_;
  std::span<const OptionId> proposal_;
  const GroupOrder* order_ = nullptr;
  Placement* placement_ = nullptr;
  std::span<const GroupOrder::Group> groups_;
  std::size_t next_ = 0;
  bool feasible_ = false;
  std::uint32_t failed_position_ = GroupOrder::kNone;
  std::vector<OptionId> members_;
};

// Places greedily by time, then bisects for the smallest HBM limit per device whose plan still
// rates within the tolerance of the first plan. Leaves the ranks of this plan in the placement.
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
