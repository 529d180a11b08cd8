// TorchRec's GreedyPerfPartitioner: places uniform options first, then each group on the least
// loaded rank or host, the largest group first.
#pragma once

#include <span>
#include <vector>

#include "search/embedding/compat/partitioners/partitioner.h"

namespace shardwright::embedding {

// Places the groups of a proposal in the order that GroupOrder gives, a few groups per step, so
// that a worker can advance two proposals at once. Walks over the groups and dispatches on where
// their shards may be. `Placement` (compat/placement) has the state of the ranks, and its
// place_run() (placement.cc) picks the rank: of those on which the shard fits, least time, then
// rank in host, then host.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py (commit a48cef79).
// Thread safety: none; one per worker.
class GreedyPerfPartitioner final : public Partitioner {
 public:
  explicit GreedyPerfPartitioner(
      PartitionerSpec::SortBy sort_by = PartitionerSpec::SortBy::kStorage)
      : sort_by_(sort_by) {}

  PartitionerSpec::SortBy sort_by() const override { return sort_by_; }
  // Empties the devices and places the uniform options. The three arguments must not change until
  // the last step. If `hbm_per_device` is not zero, it replaces the HBM of every device.
  void start(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
             std::int64_t hbm_per_device = 0);
  // Returns true if a step is left.
  bool running() const { return next_ < groups_.size(); }
  // Places the next groups. Precondition: running().
  void step();
  // Makes one step of each. Precondition: both are running, on different placements.
  static void step_together(GreedyPerfPartitioner& a, GreedyPerfPartitioner& b);
  // Returns true if everything fitted so far.
  bool feasible() const { return feasible_; }

  // Does start() and all steps. Returns true if everything fits.
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

  // The position of the group that did not fit; kNone = the uniform options did not.
  std::uint32_t failed_position() const { return failed_position_; }

 private:
  // The next groups as long as they are plain, at most `limit`.
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

}  // namespace shardwright::embedding
