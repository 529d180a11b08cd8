// Best mode as one call, and the proof that no plan exists.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/best/best_parameters.h"
#include "search/embedding/best/portfolio_search.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/model/option_pool.h"
#include "search/executor.h"

namespace shardwright {

// Returns a certificate with an infinite bound that the check of core has accepted, or nothing if
// no proof was found with `work` steps. It proves that no plan rates below a rating that every plan
// would stay below: a table has no place, or memory does not suffice. Placement rules of single
// tables count, rules about groups do not. Spends its steps from `budget`.
std::optional<embedding::BoundCertificate> prove_absence(
    const embedding::OptionPool& pool, const embedding::Topology& available, std::uint64_t work,
    Budget& budget, const embedding::BoundParameters& parameters = {});

// The state of a search after a round.
// Thread safety: a value; refers to the search.
struct BestCheckpoint {
  const embedding::Plan& plan;
  const embedding::BoundCertificate* certificate = nullptr;  // of the bound; null if there is none
};

// The start of a search, and its callbacks. Each part may be absent.
struct BestStart {
  const std::optional<embedding::Plan>& plan;  // the answer is not worse than this
  const embedding::Plan* near = nullptr;       // the answer stays close to this if ratings tie
  // Called with every better plan, on the calling thread. Each plan is an edit of the plan before.
  const std::function<void(const embedding::Plan&)>& on_better;
  // Called on the calling thread after a round with a better plan or a higher bound.
  std::function<void(const BestCheckpoint&)> on_checkpoint = nullptr;
  // A proof to continue, which the check of core has accepted; null if there is none.
  const embedding::BoundCertificate* proved = nullptr;
  // The search may end once it is proved that no plan rates below this.
  double to_beat = std::numeric_limits<double>::infinity();
};

struct BestPlan {
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;  // of the plan, by the verifier
  // Absent if no bound was proved, or if proposers added options, which a proof does not cover.
  std::optional<embedding::BoundCertificate> certificate;
  // The reason why the check of core refused the certificate, which is then dropped; else empty.
  std::string refusal;
  std::vector<embedding::ImprovementStep> steps;
  embedding::PlanCopies copies;
  std::uint64_t span = 0;    // of the rounds: PortfolioSearch::span()
  bool none_exists = false;  // every choice and place was tried, and no plan is valid
  StopReason reason = StopReason::kFinished;
};

// Runs best mode. The answer's certificate has passed the check of core. After a stop or at a
// deadline the check has about a tenth of a second. Errors: kInfeasible if the placement rules
// leave a table without an option.
Result<BestPlan> find_best_plan(
    const embedding::OptionPool& pool, const embedding::Topology& available,
    const embedding::PortfolioSettings& settings, const BestStart& start, Executor& executor,
    Budget& budget, const std::function<void(const embedding::PortfolioSearch&)>& observe);

}  // namespace shardwright
