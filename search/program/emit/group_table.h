// Process groups, numbered in the order in which plans first use them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/program/program.h"
#include "core/program/reshard_plan.h"

namespace shardwright::program {

// One numbering for all ranks. It is filled by a single pass over the plans in program order,
// before any rank emits operators.
// Thread safety: const members may be called from any thread.
class GroupTable {
 public:
  explicit GroupTable(const std::vector<ProcessGroup>& known) {
    for (const ProcessGroup& group : known) {
      const auto ranks = group.ranks.view();
      add({ranks.begin(), ranks.end()}, group.is_point_to_point);
    }
  }

  void add(const ReshardPlan& plan) {
    for (const auto& [rank, steps] : plan.ranks) {
      for (const Step& step : steps) {
        if (is_collective(step.kind)) add(step.group, false);
        if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv) {
          add({step.src, step.dst}, true);
        }
      }
    }
  }
  void add(std::vector<Rank> ranks, bool point_to_point) {
    const auto [at, fresh] = ids_.try_emplace({std::move(ranks), point_to_point}, groups_.size());
    if (fresh) groups_.push_back({SharedArray<Rank>(at->first.first), point_to_point});
  }

  // Precondition: the group was added.
  std::int64_t id(const std::vector<Rank>& ranks, bool point_to_point) const {
    const auto at = ids_.find({ranks, point_to_point});
    SHARDWRIGHT_CHECK(at != ids_.end());
    return static_cast<std::int64_t>(at->second);
  }
  const std::vector<ProcessGroup>& groups() const { return groups_; }

 private:
  std::map<std::pair<std::vector<Rank>, bool>, std::size_t> ids_;
  std::vector<ProcessGroup> groups_;
};

}  // namespace shardwright::program
