#include "runtime/io/embedding/claims/rebuilt_file.h"

#include <string>
#include <string_view>
#include <utility>

#include "runtime/io/embedding/plan/plan_json.h"

namespace shardwright {
namespace {

PlanFailure failure_of(const ClaimedFailure& claimed) {
  PlanFailure failure;
  if (claimed.type) failure.type = *claimed.type;
  if (claimed.reason) failure.reason = *claimed.reason;
  failure.message = claimed.message;
  failure.proof = claimed.proof;
  return failure;
}

EmbeddingPlanResult rebuilt_result(const PlanDocument& document, const Verification& verification) {
  EmbeddingPlanResult result;
  if (document.mode) result.mode = *document.mode;
  result.search_space = verification.search_space;
  result.given_search_space = verification.given_search_space;
  result.reservation = verification.reservation;
  result.reused = document.reused;
  result.improvements = document.improvements;
  result.certificate = document.certificate;
  if (document.failure) result.failure = failure_of(*document.failure);
  if (!verification.plan) return result;
  result.plan = verification.plan;
  result.evaluation = verification.evaluation;
  result.best_rating = verification.evaluation.rating;
  result.lower_bound = document.lower_bound;
  return result;
}

}  // namespace

Result<JsonDocument> rebuild_file(const embedding::Problem& problem, const PlanDocument& document,
                                  const Verification& verification, RebuiltParts parts) {
  EmbeddingPlanResult result = rebuilt_result(document, verification);
  result.migration = std::move(parts.migration);
  PlanJsonOptions options;
  options.stats = parts.stats;
  options.search_space = parts.search_space;
  std::string text;
  write_plan(problem, result, options, [&](std::string_view piece) { text += piece; });
  return JsonDocument::parse(text);
}

}  // namespace shardwright
