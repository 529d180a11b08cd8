// The difference between two plans, for pages.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/rank_flows.h"
#include "core/status.h"
#include "runtime/embedding/plan_diff.h"

namespace shardwright {

struct PlanChange {
  static constexpr std::int64_t kMostBlocks = 64;  // most blocks of senders, and of receivers

  PlanDiff diff;
  embedding::RankFlows flows;  // if there are more than kMostBlocks ranks, between blocks
};

// Returns the changes from `from` to `to`. If `ranks_per_host` is known, blocks are whole hosts.
// Errors: as diff_plans(). Cost: that of diff_plans(), plus RankFlows::add() for every table.
Result<PlanChange> make_plan_change(const PlanDocument& from, const PlanDocument& to,
                                    std::optional<std::int64_t> ranks_per_host);

}  // namespace shardwright
