#include "core/program/reshard_plan.h"

namespace shardwright::program {

const std::vector<Step>* ReshardPlan::steps_of(Rank rank) const {
  for (const auto& [owner, steps] : ranks) {
    if (owner == rank) return &steps;
  }
  return nullptr;
}

std::vector<Step>& ReshardPlan::at(Rank rank) {
  for (auto& [owner, steps] : ranks) {
    if (owner == rank) return steps;
  }
  return ranks.emplace_back(rank, std::vector<Step>()).second;
}

bool is_collective(StepKind kind) {
  return kind == StepKind::kAllGather || kind == StepKind::kConcatGather ||
         kind == StepKind::kAllReduce || kind == StepKind::kReduceScatter ||
         kind == StepKind::kAllToAll;
}

}  // namespace shardwright::program
