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

// Proves that no plan exists, because a table has no place or memory does not suffice. Returns a
// certificate with an infinite bound that check_absence() has accepted, or nothing if `work` units,
// spent from `budget`, did not suffice. Considers placement rules of single tables, and ignores
// rules of groups.
std::optional<embedding::BoundCertificate> prove_absence(
    const embedding::OptionPool& pool, const embedding::Topology& available, std::uint64_t work,
    Budget& budget, const embedding::BoundParameters& parameters = {});

// The state of a search after a round.
// Thread safety: a value; refers to the search.
struct BestCheckpoint {
  const embedding::Plan& plan;
  const embedding::BoundCertificate* certificate = nullptr;  // null if no bound is proved
};

// The start of a search, and its callbacks. Every member may be absent.
struct BestStart {
  const std::optional<embedding::Plan>& plan;  // the answer is not worse than this plan
  const embedding::Plan* near = nullptr;       // on ties, tables stay where this plan has them
  // Called with every better plan, on the calling thread. Each plan is an edit of the plan before.
  const std::function<void(const embedding::Plan&)>& on_better;
  // Called on the calling thread after a round with a better plan or a higher bound.
  std::function<void(const BestCheckpoint&)> on_checkpoint = nullptr;
  // A certificate to continue, which check_bound() has accepted; null if there is none.
  const embedding::BoundCertificate* proved = nullptr;
  // The search may end once a bound of at least this rating is proved.
  double to_beat = std::numeric_limits<double>::infinity();
};

struct BestPlan {
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;  // of the plan, by the verifier
  // Absent if no bound was proved, or if proposers added options, which a proof does not cover.
  std::optional<embedding::BoundCertificate> certificate;
  // Why check_bound() refused the search's certificate, if it did; `certificate` is then absent.
  std::string refusal;
  std::vector<embedding::ImprovementStep> steps;
  embedding::PlanCopies copies;
  std::uint64_t span = 0;    // see PortfolioSearch::span()
  bool none_exists = false;  // proved: no plan is valid
  StopReason reason = StopReason::kFinished;
};

// Runs best mode. check_bound() has accepted the certificate of the answer. After a stop or at a
// deadline, this check takes at most about a tenth of a second. Errors: kInfeasible if the
// placement rules leave a table without an option.
Result<BestPlan> find_best_plan(
    const embedding::OptionPool& pool, const embedding::Topology& available,
    const embedding::PortfolioSettings& settings, const BestStart& start, Executor& executor,
    Budget& budget, const std::function<void(const embedding::PortfolioSearch&)>& observe);

}  // namespace shardwright
