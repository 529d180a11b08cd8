#include "perf/instr/quality.h"

#include "perf/support/workloads.h"
#include "runtime/planner.h"

namespace shardwright::perf {
namespace {

struct Mode {
  const char* name;
  PlanMode mode;
};
constexpr Mode kModes[] = {{"exact", PlanMode::kExact}};

// Small and large, table-wise, row-wise and mixed, with and without caches, each proposer.
constexpr const char* kCases[] = {"07", "09", "20", "22", "23", "25", "26",
                                  "30", "31", "32", "36", "40", "41", "43"};
constexpr std::uint64_t kWorkLimits[] = {5'000, 100'000, 1'000'000};

}  // namespace

std::vector<Quality> measure_quality() {
  std::vector<Quality> all;
  for (const Mode& mode : kModes) {
    for (const char* const name : kCases) {
      const Workload workload = require(load_workload(name));
      for (const std::uint64_t work_limit : kWorkLimits) {
        PlanOptions options;
        options.mode = mode.mode;
        options.threads = 1;
        options.work_limit = work_limit;
        const EmbeddingPlanResult result = require(plan_embedding(workload.problem, options));
        all.push_back(
            {std::string(mode.name) + "/" + workload.name + "/" + std::to_string(work_limit),
             result.best_rating, result.num_proposals});
      }
    }
  }
  return all;
}

}  // namespace shardwright::perf
