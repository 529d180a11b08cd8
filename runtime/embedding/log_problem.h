// The plan of a planner's log as a problem, with sharding options and ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner_log.h"

namespace shardwright {

// What TorchRec's estimates depend on and a log does not print. Bandwidths are in bytes per ms.
// Thread safety: a value.
struct LogConstants {
  embedding::TorchRecRelease release = embedding::TorchRecRelease::k1_9_2;
  embedding::DataType weights = embedding::DataType::kFp32;
  // Of all-to-all, forward and backward; absent = that of the weights.
  std::optional<embedding::DataType> forward, backward;
  // Of reduce-scatter, both ways; absent = that of the weights.
  std::optional<embedding::DataType> reduction;
  embedding::Optimizer optimizer = embedding::Optimizer::kUnset;
  embedding::PipelineType pipeline_type = embedding::PipelineType::kNone;
  std::int64_t ranks_per_host = 0;
  double memory_bw = 0;  // of HBM; of DDR if the ranks have no HBM
  double intra_host_bw = embedding::TopologySpec().intra_host_bw;
  double inter_host_bw = embedding::TopologySpec().inter_host_bw;
  // Whose measured costs take the place of printed times; may be null.
  std::shared_ptr<const embedding::MachineModel> machine;
};

// Returns true if the ranks of the log have HBM.
bool has_hbm(const PlannerLog& log);
// The bandwidth of their memory in TorchRec, in bytes per ms.
double default_memory_bw(const PlannerLog& log);

// Returns the problem that the log tells of. Every table has the kernel and the columns per shard
// of the log, and the sharding type if `same_types`. A name that stands twice gets "#2" in its
// second row. The planner's memory is that of the log, or what the fullest rank uses if the
// log does not tell.
embedding::ProblemSpec problem_of_log(const PlannerLog& log, const LogConstants& constants,
                                      bool same_types);

// The options of the log's plan, one per table in the log's order, with printed costs, which the
// shards of a table share in the ratio of their estimates. Times are estimates if the problem has a
// machine. Errors:
// kInvalidInput at the line of a table whose ranks are not as many as its shards, or whose costs
// cannot be estimated.
Result<std::shared_ptr<const embedding::SearchSpace>> options_of_log(
    const PlannerLog& log, std::shared_ptr<const embedding::Problem> problem);

// The plan of the log, one entry per table in the log's order. A log has the ranks of a table in
// ascending order; shards of one table differ in their rows at most, and blocks of columns are
// interchangeable. Precondition: `space` is of options_of_log().
std::vector<PlanEntry> plan_of_log(const PlannerLog& log, const embedding::SearchSpace& space);

}  // namespace shardwright
