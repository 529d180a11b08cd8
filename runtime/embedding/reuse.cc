#include "runtime/embedding/reuse.h"

#include <utility>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/verify.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using embedding::Problem;
using embedding::SearchSpace;

// Says why the file cannot answer this request, without recomputing anything. Returns an empty text
// if the file may be able to.
std::string mismatch(const Problem& problem, const SearchSpace* given, const PlanDocument& document,
                     PlanMode mode) {
  if (!document.plan) return "the file holds no plan";
  if (!document.problem_hash || !document.mode)
    return "the file does not say for which problem and in which mode it was made";
  const ProblemIdentity identity = identify(problem, given);
  if (*document.problem_hash != identity.hash) {
    return "it was made for another problem, which differs in " +
           differing_parts(document.problem_parts, identity.parts);
  }
  if (*document.mode != mode) {
    return "it was made in " + std::string(name_of(*document.mode)) + " mode, and " +
           std::string(name_of(mode)) + " mode is asked for";
  }
  if (mode == PlanMode::kBest) return "";
  if (document.search_hash != search_hash(problem))
    return "proposers, partitioner or an order that compat mode follows are not the same";
  if (document.stopped_by != StopReason::kFinished) {
    return "its search was stopped by " + std::string(text_of(document.stopped_by));
  }
  return "";
}

std::string first_finding(const Verification& verification) {
  const Verification::Finding& first =
      verification.valid() ? verification.not_verified.front() : verification.violations.front();
  return "it does not verify: " + first.where + (first.where.empty() ? "" : ": ") + first.message;
}

}  // namespace

std::optional<double> best_mode_rating(const Problem& problem, const SearchSpace* given,
                                       const PlanDocument& document) {
  if (!document.lower_bound || !document.problem_hash) return std::nullopt;
  if (*document.problem_hash != identify(problem, given).hash) return std::nullopt;
  return document.best_rating;
}

Result<Reuse> reuse_plan(std::shared_ptr<const Problem> problem, const PlanDocument& document,
                         PlanMode mode, std::shared_ptr<const SearchSpace> search_space,
                         const Budget& budget) {
  const Stopwatch watch;
  Reuse reuse;
  reuse.why_not = mismatch(*problem, search_space.get(), document, mode);
  if (!reuse.why_not.empty()) return reuse;
  const bool given = search_space != nullptr;
  SHARDWRIGHT_ASSIGN_OR_RETURN(Verification found,
                               verify_plan(problem, document, std::move(search_space), budget));
  if (!found.verified()) {
    reuse.why_not = first_finding(found);
    return reuse;
  }
  EmbeddingPlanResult& result = reuse.result.emplace();
  result.problem = std::move(problem);
  result.mode = mode;
  result.reused = true;
  result.search_space = std::move(found.search_space);
  result.given_search_space = given;
  result.reservation = std::move(found.reservation);
  result.plan = std::move(found.plan);
  result.best_rating = found.evaluation.rating;
  result.evaluation = std::move(found.evaluation);
  result.lower_bound = document.lower_bound;
  result.certificate = document.certificate;
  result.timing.total_s = watch.seconds();
  return reuse;
}

}  // namespace shardwright
