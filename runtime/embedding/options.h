// The options of a planning call.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/plan_mode.h"
#include "search/embedding/best/best_parameters.h"

namespace shardwright {

class Exchange;
struct EmbeddingPlanResult;

namespace embedding {
class Plan;
struct SearchParts;
}  // namespace embedding

// The work limit of best mode if neither work nor time is limited: about two seconds on two cores.
inline constexpr std::uint64_t kDefaultBestWork = 400'000'000;

// The progress of a search.
struct PlanProgress {
  std::uint64_t proposals = 0;              // evaluated so far
  std::uint64_t proposals_at_most = 0;      // upper bound of what the proposers will make
  std::uint64_t plans = 0;                  // proposals that fitted
  std::optional<double> best_rating;        // ms, or bytes for the storage model
  std::optional<double> lower_bound;        // no plan rates below it; best mode only
  std::optional<std::uint64_t> work_limit;  // of best mode's part
  std::uint64_t work_steps = 0;
  double elapsed_s = 0;
  std::optional<double> time_limit_s;
  bool is_best_search = false;   // best mode's own search, which follows the proposals
  bool rating_is_bytes = false;  // of the storage model
};

struct PlanOptions {
  PlanMode mode = PlanMode::kBest;
  int threads = 0;                          // 0 = all cores
  std::optional<double> time_limit_s;       // not deterministic if it ends the search
  std::optional<std::uint64_t> work_limit;  // steps of work; deterministic
  std::uint64_t seed = 0;
  // Searches of best mode that run side by side. They decide what is searched; threads only decide
  // where.
  std::uint32_t lanes = embedding::kDefaultLanes;
  embedding::Methods methods;  // of best mode, to measure what each is worth
  bool trace = false;          // keep every proposal with its rating and ranks
  // Replaces parts that the problem names; see search/embedding/compat/proposal_lane.h. Best mode
  // starts from the plan that they find and refuses a rating model.
  std::shared_ptr<const embedding::SearchParts> parts;
  // Best mode also starts from this plan and stays close to it among plans of equal rating. It may
  // exceed memory but break no other rule. Precondition: its options belong to the search space
  // that the caller gives.
  std::shared_ptr<const embedding::Plan> start;
  // Best mode goes on from the bound that this certificate proves, if the check of core accepts it.
  // Precondition: as of `start`.
  std::shared_ptr<const embedding::BoundCertificate> proved;
  // Best mode may end once it has proved that no plan rates below this.
  double to_beat = std::numeric_limits<double>::infinity();
  // Called on the thread that plans with every better plan that best mode finds.
  std::function<void(const embedding::Plan&)> on_better_plan;
  // Called on the thread that plans after every round of best mode that found a better plan or
  // raised the bound. The answer holds the current plan and bound; a search can resume from it if
  // the process dies (resume.h). The proof of the answer's bound is not checked yet.
  std::function<void(const EmbeddingPlanResult&)> on_checkpoint;
  // Ends the search, from any thread, with the best plan so far; not deterministic either.
  std::stop_token stop;
  // The other processes, which get the same problem, space, mode, seed, lanes and work limit, and
  // search with seeds of their own (portfolio.h). Null if this process is alone. Used on the thread
  // that plans.
  Exchange* exchange = nullptr;
  // Called on the thread that plans after every batch of proposals; no lock is held. An exception
  // that it throws ends the planning and reaches the caller.
  std::function<void(const PlanProgress&)> on_progress;
};

}  // namespace shardwright
