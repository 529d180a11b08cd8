// Two plans, before and after, as pages show them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/rank_flows.h"
#include "core/status.h"
#include "runtime/embedding/plan_diff.h"

namespace shardwright {

struct PlanChange {
  static constexpr std::int64_t kMostBlocks = 64;  // of senders, and of receivers

  PlanDiff diff;
  embedding::RankFlows flows;  // between blocks of ranks where there are more than kMostBlocks
};

// The changes from `from` to `to`. Blocks are whole hosts where `ranks_per_host` is known. Errors:
// those of diff_plans(). Cost: that of diff_plans() and of RankFlows::add() for every table.
Result<PlanChange> make_plan_change(const PlanDocument& from, const PlanDocument& to,
                                    std::optional<std::int64_t> ranks_per_host);

}  // namespace shardwright
