#include "runtime/embedding/planning/absence_stage.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/embedding/bound/plan_search.h"
#include "runtime/embedding/planning/failures.h"
#include "search/embedding/best/best_mode.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright {
namespace {

using embedding::FoundPlan;

// The certificate may take this part of the work. Most are found within a thousandth of it; without
// one, what is left of the work looks for a plan.
constexpr std::uint64_t kShareOfWork = 20;

// The search over all plans before best mode takes this many steps at most: about a tenth of a
// second.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 22;
// Steps of this search in the time of one step of best mode.
constexpr std::uint64_t kStepsPerStep = 16;

// Compat mode's plan may exceed memory; best mode does not accept it as a plan.
void take_failure(std::optional<AbsenceProof> proof, Planning& planning) {
  EmbeddingPlanResult& result = planning.result;
  result.plan.reset();
  result.best_rating.reset();
  result.evaluation = {};
  result.failure = nothing_found(planning, std::move(result.failure), proof);
}

// Says which rule leaves a table without an option, if one does, unless something was said before.
void name_rule(const embedding::OptionPool& pool, Planning& planning) {
  if (planning.result.failure) return;
  const embedding::ChoiceModel model(pool, planning.available(), planning.budget);
  if (!model.status().ok() && !planning.budget.interrupted())
    planning.result.failure = no_option_left(model.status().error());
}

// A proof covers the options of the space only.
bool is_provable(const embedding::OptionPool& pool) { return pool.num_added() == 0; }

// Returns true if a search over all plans ends within the limit and finds none.
bool try_all(Planning& planning, const embedding::OptionPool& pool, std::uint64_t most_steps,
             std::optional<embedding::Plan>& start) {
  if (!is_provable(pool) || planning.budget.interrupted()) return false;
  FoundPlan tried = embedding::find_any_plan(
      *planning.space, planning.available(), std::min(most_steps, kMostSteps),
      [&] { return planning.budget.interrupted().has_value(); });
  planning.budget.spend(tried.steps / kStepsPerStep);
  if (tried.answer == FoundPlan::Answer::kFound) start = std::move(tried.plan);
  if (tried.answer != FoundPlan::Answer::kNoneExists) return false;
  name_rule(pool, planning);
  take_failure(AbsenceProof::kSearch, planning);
  return true;
}

}  // namespace

bool prove_absence_first(Planning& planning, const embedding::OptionPool& pool,
                         std::optional<embedding::Plan>& start) {
  const std::uint64_t work =
      work_limit_of(planning.options).value_or(kDefaultBestWork) / kShareOfWork;
  EmbeddingPlanResult& result = planning.result;
  result.certificate = prove_absence(pool, planning.available(), work, planning.budget);
  if (result.certificate) {
    name_rule(pool, planning);
    take_failure(AbsenceProof::kCertificate, planning);
    return true;
  }
  return try_all(planning, pool, kStepsPerStep * work, start);
}

void take_absence(Planning& planning, const embedding::OptionPool& pool, bool none_exists) {
  std::optional<AbsenceProof> proof;
  if (none_exists && is_provable(pool)) proof = AbsenceProof::kSearch;
  take_failure(proof, planning);
}

}  // namespace shardwright
