// What a caller may ask of the planner, beyond the problem itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "runtime/embedding/result/plan_mode.h"

namespace shardwright {

namespace embedding {
class Plan;
struct SearchParts;
}

// What best mode spends where neither work nor time is limited: about two seconds on two cores.
inline constexpr std::uint64_t kDefaultBestWork = 200'000'000;

// Where a search stands.
struct PlanProgress {
  std::uint64_t proposals = 0;              // evaluated so far
  std::uint64_t proposals_at_most = 0;      // that the proposers may make altogether
  std::uint64_t plans = 0;                  // that fitted
  std::optional<double> best_rating;        // ms, or bytes for the storage model
  std::optional<double> lower_bound;        // that no plan rates below; best mode
  std::optional<std::uint64_t> work_limit;  // of best mode's part
  std::uint64_t placed_shards = 0;
  double elapsed_s = 0;
};

struct PlanOptions {
  PlanMode mode = PlanMode::kBest;
  int threads = 0;                          // 0 = all cores
  std::optional<double> time_limit_s;       // gives up determinism when it strikes
  std::optional<std::uint64_t> work_limit;  // placed shards, best mode: steps; deterministic
  std::uint64_t seed = 0;
  bool trace = false;  // keep every proposal with its rating and ranks
  // Parts that take the place of those that the problem names; search/embedding/compat/search_parts.h.
  // Best mode begins with the plan of that search, and refuses a rating model.
  std::shared_ptr<const embedding::SearchParts> parts;
  // Best mode begins with this plan, too, and stays close to it where ratings tie. It may lack
  // memory, and nothing else; its options are those of the search space that is given.
  std::shared_ptr<const embedding::Plan> start;
  // Called with every better plan that best mode's search finds, on the thread that plans.
  std::function<void(const embedding::Plan&)> on_better_plan;
  // Ends the search, from any thread, with the best plan so far; gives up determinism, too.
  std::stop_token stop;
  // Called after every batch of proposals, on the thread that plans; no lock is held. What it
  // throws ends the planning and reaches the caller.
  std::function<void(const PlanProgress&)> on_progress;
};

}  // namespace shardwright
