#include "perf/instr/quality.h"

#include "perf/support/best_case.h"
#include "perf/support/workloads.h"
#include "runtime/embedding/planner.h"
#include "search/embedding/best/annealing_lane.h"

namespace shardwright::perf {
namespace {

struct Mode {
  const char* name;
  PlanMode mode;
};
constexpr Mode kModes[] = {{"compat", PlanMode::kCompat}};

// Cases of every kind: small and large; table-wise, row-wise and mixed; with and without caches.
constexpr const char* kCases[] = {"07", "09", "20", "22", "23", "25", "26",
                                  "30", "31", "32", "36", "40", "41", "43"};
constexpr std::uint64_t kWorkLimits[] = {5'000, 100'000, 1'000'000};

// Cases for one lane of local search: many shards, scarce memory, options on whole hosts, few large
// shards.
constexpr const char* kImproved[] = {"09", "23", "29", "31", "34", "36", "40", "41", "42", "43"};
constexpr std::uint64_t kImproveWork[] = {200'000, 4'000'000};

void measure_improvement(std::vector<Quality>& all) {
  for (const char* const name : kImproved) {
    const BestCase improved(name);
    const embedding::SearchContext context(improved.choices);
    for (const std::uint64_t work : kImproveWork) {
      embedding::AnnealingLane stream(context, 1, 0);
      stream.run(work, context.bound(), Budget());
      std::optional<double> rating;
      if (stream.best()) rating = stream.best()->rating;
      all.push_back({"improve/" + improved.workload.name + "/" + std::to_string(work), rating, 0});
    }
  }
}

}  // namespace

std::vector<Quality> measure_quality() {
  std::vector<Quality> all;
  for (const Mode& mode : kModes) {
    for (const char* const name : kCases) {
      const Workload workload = require(load_workload(name));
      for (const std::uint64_t work_limit : kWorkLimits) {
        PlanOptions options;
        options.mode = PlanMode::kCompat;
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
  measure_improvement(all);
  return all;
}

}  // namespace shardwright::perf
