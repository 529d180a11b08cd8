// Process groups: those of the program, and new ones in the order in which plans first use them.
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
  // In compat mode, messages between two ranks use a group of these ranks for collectives if there
  // is one, and the reverse, as in Paddle's Resharder. Of several groups of the same ranks, the
  // first one is used.
  GroupTable(Communication known, bool compat) : known_(std::move(known)), compat_(compat) {
    for (const ProcessGroup& group : known_.groups) {
      const auto ranks = group.ranks.view();
      rings_.try_emplace(key({ranks.begin(), ranks.end()}, group.is_point_to_point), group.ring_id);
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
  // Adds the groups of messages only, in the order of their receivers.
  void add_by_receiver(const ReshardPlan& plan) {
    for (const auto& [rank, steps] : plan.ranks) {
      for (const Step& step : steps) {
        if (step.kind == StepKind::kRecv) add({step.src, step.dst}, true);
      }
    }
  }
  void add(std::vector<Rank> ranks, bool point_to_point) {
    const auto [at, fresh] =
        rings_.try_emplace(key(std::move(ranks), point_to_point), known_.next_ring_id);
    if (!fresh) return;
    known_.groups.push_back({SharedArray<Rank>(at->first.first), point_to_point, at->second});
    ++known_.next_ring_id;
  }

  // Precondition: the group was added.
  std::int64_t ring_id(const std::vector<Rank>& ranks, bool point_to_point) const {
    const auto at = rings_.find(key(ranks, point_to_point));
    SHARDWRIGHT_CHECK(at != rings_.end());
    return at->second;
  }
  const Communication& communication() const { return known_; }

 private:
  using Key = std::pair<std::vector<Rank>, bool>;
  Key key(std::vector<Rank> ranks, bool point_to_point) const {
    return {std::move(ranks), point_to_point && !compat_};
  }

  Communication known_;
  bool compat_;
  std::map<Key, std::int64_t> rings_;
};

}  // namespace shardwright::program
