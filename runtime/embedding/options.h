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
  std::uint64_t proposals = 0;              // proposals evaluated so far
  std::uint64_t proposals_at_most = 0;      // upper bound on the number of proposals
  std::uint64_t plans = 0;                  // proposals that fit
  std::optional<double> best_rating;        // ms, or bytes for the storage model
  std::optional<double> lower_bound;        // no plan rates below it; best mode only
  std::optional<std::uint64_t> work_limit;  // of best mode's part
  std::uint64_t work_steps = 0;
  double elapsed_s = 0;
  std::optional<double> time_limit_s;
  bool is_best_search = false;   // best mode's own search, after the proposals
  bool rating_is_bytes = false;  // with the storage model
};

struct PlanOptions {
  PlanMode mode = PlanMode::kBest;
  int threads = 0;                          // 0 means all cores
  std::optional<double> time_limit_s;       // an answer that it ends is not deterministic
  std::optional<std::uint64_t> work_limit;  // steps of work; deterministic
  std::uint64_t seed = 0;
  // Number of best mode's parallel searches. It changes the answer; the number of threads does not.
  std::uint32_t lanes = embedding::kDefaultLanes;
  embedding::Methods methods;  // methods that best mode uses; for measurements
  bool trace = false;          // keep every proposal with its rating and ranks
  // Custom parts in place of those that the problem names
  // (search/embedding/compat/proposal_lane.h). Best mode starts from the plan that these parts
  // find, and refuses a custom rating model.
  std::shared_ptr<const embedding::SearchParts> parts;
  // Best mode also starts from this plan, and prefers plans close to it among plans of equal
  // rating. The plan may exceed memory but must break no other rule. Precondition: its options
  // belong to the search space that the caller gives.
  std::shared_ptr<const embedding::Plan> start;
  // Best mode starts with the bound of this certificate if check_bound() of core accepts it.
  // Precondition: the certificate belongs to the search space that the caller gives.
  std::shared_ptr<const embedding::BoundCertificate> proved;
  // Best mode may stop once it has proved that no plan rates below this number.
  double to_beat = std::numeric_limits<double>::infinity();
  // Called with every better plan that best mode finds, on the thread that called the planner.
  std::function<void(const embedding::Plan&)> on_better_plan;
  // Called after every round of best mode that found a better plan or raised the bound, on the
  // thread that called the planner. Its argument holds the current plan and bound, from which a
  // later process can resume the search (resume.h). The bound's certificate is not checked yet.
  std::function<void(const EmbeddingPlanResult&)> on_checkpoint;
  // Ends the search with the best plan so far, from any thread. Such an answer is not
  // deterministic.
  std::stop_token stop;
  // Other processes that plan the same problem with the same space, mode, seed, lanes and work
  // limit. Each process adds its number to the seed (portfolio.h). Null if there are no other
  // processes. Used only on the thread that called the planner.
  Exchange* exchange = nullptr;
  // Called after every batch of proposals, on the thread that called the planner, with no lock
  // held. An exception that it throws ends the planning and reaches the caller.
  std::function<void(const PlanProgress&)> on_progress;
};

// The options of another search of the same call: threads, seed, lanes, methods and stop are those
// of `options`; nothing watches the search.
inline PlanOptions further_search(const PlanOptions& options, std::uint64_t work_limit) {
  PlanOptions further;
  further.threads = options.threads;
  further.work_limit = work_limit;
  further.seed = options.seed;
  further.lanes = options.lanes;
  further.methods = options.methods;
  further.stop = options.stop;
  return further;
}

}  // namespace shardwright
