#include "runtime/report/embedding/plan_change.h"

#include <utility>

namespace shardwright {

Result<PlanChange> make_plan_change(const PlanDocument& from, const PlanDocument& to,
                                    std::optional<std::int64_t> ranks_per_host) {
  const std::int64_t ranks = machine_size(from, to);
  const auto blocks_of = [ranks](std::int64_t block) { return (ranks + block - 1) / block; };
  std::int64_t block = 1;
  if (ranks > PlanChange::kMostBlocks) block = ranks_per_host.value_or(1);
  while (blocks_of(block) > PlanChange::kMostBlocks)
    block *= 2;
  embedding::RankFlows flows(ranks, block);
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDiff diff, diff_plans(from, to, &flows));
  return PlanChange{std::move(diff), std::move(flows)};
}

}  // namespace shardwright
