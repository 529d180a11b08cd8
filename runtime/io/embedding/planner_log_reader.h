// Reads the statistics that TorchRec's planner writes to a job's log.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "runtime/embedding/planner_log.h"

namespace shardwright {

// Reads plan number `plan` of a log, from 1; the last one if absent. Lines may have a logger's
// prefix before the frame, or no frame, and lines of others may stand between them. Columns are
// found by their titles. A log may end after the section of tables; `is_cut` then tells so. Errors:
// kInvalidInput with the number of the line, for a log without plans or without this plan, for
// sections that are missing, cut or wrapped, and for cells that are not what their column has.
// Cost: O(text).
// Source: EmbeddingStats.log, torchrec/distributed/planner/stats.py.
Result<PlannerLog> read_planner_log(std::string_view text,
                                    std::optional<std::size_t> plan = std::nullopt);

// Reads the error with which the planner gave up, if the log has one after its last statistics of a
// plan; else nullopt. Errors: kInvalidInput with the number of the line at which it is cut.
// Source: EmbeddingShardingPlanner.plan, torchrec/distributed/planner/planners.py.
Result<std::optional<FailedPlanning>> read_failed_planning(std::string_view text);

}  // namespace shardwright
