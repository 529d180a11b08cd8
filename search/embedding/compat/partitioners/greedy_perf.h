// The greedy partitioner: what is uniform first, then the largest group to the least loaded place.
#pragma once

#include <span>
#include <vector>

#include "search/embedding/compat/partitioners/partitioner.h"

namespace shardwright::embedding {

// Places a proposal whose groups are in an order, a few groups per step, so that a worker can
// advance two proposals at once.
// Source: GreedyPerfPartitioner, torchrec/distributed/planner/partitioners.py.
// Thread safety: none; one per worker.
class GreedyPerfPartitioner final : public Partitioner {
 public:
  explicit GreedyPerfPartitioner(
      PartitionerSpec::SortBy sort_by = PartitionerSpec::SortBy::kStorage)
      : sort_by_(sort_by) {}

  PartitionerSpec::SortBy sort_by() const override { return sort_by_; }
  // Empties the devices and places the uniform options. The three must stay as they are until the
  // last step. `hbm_per_device` other than zero replaces the HBM of every device.
  void start(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
             std::int64_t hbm_per_device = 0);
  // Whether a step is left.
  bool running() const { return next_ < groups_.size(); }
  // Places the next groups. Precondition: running().
  void step();
  // A step of each. Precondition: both are running, on different placements.
  static void step_together(GreedyPerfPartitioner& a, GreedyPerfPartitioner& b);
  // Whether everything placed so far found its place.
  bool feasible() const { return feasible_; }

  // start() and all steps; whether everything fits.
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order,
                 Placement& placement) override {
    return partition(proposal, order, placement, 0);
  }
  bool partition(std::span<const OptionId> proposal, const GroupOrder& order, Placement& placement,
                 std::int64_t hbm_per_device) {
    start(proposal, order, placement, hbm_per_device);
    while (running()) step();
    return feasible_;
  }

  // Where something did not fit: the position of the group, kNone = the uniform options.
  std::uint32_t failed_position() const { return failed_position_; }

 private:
  // The plain groups that come next, at most `limit`.
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
