#include "runtime/embedding/claim_checker.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/plan_search.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

bool ClaimChecker::is_close(double a, double b) {
  return a == b || std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string ClaimChecker::place(std::string where) const {
  if (where.starts_with(root_)) where.erase(0, root_.size());
  return where;
}

void ClaimChecker::report(std::string where, std::string message) {
  result_.violations.push_back({place(std::move(where)), std::move(message)});
}

void ClaimChecker::not_verified(std::string where, std::string message) {
  result_.not_verified.push_back({std::move(where), std::move(message)});
}

void ClaimChecker::take_proof(const std::string& where, const std::string& refusal,
                              const std::optional<std::string>& wrong, std::size_t searches,
                              const Budget& budget) {
  if (!wrong) return repeated(where, searches);
  if (*wrong == embedding::kProofOfOlderForm) return not_verified(where, *wrong);
  if (*wrong != embedding::kProofTooLong) return report(where, refusal + *wrong);
  const std::optional<StopReason> stop = budget.interrupted();
  not_verified(where, stop ? "the check was stopped by " + std::string(text_of(*stop)) : *wrong);
}

void ClaimChecker::repeated(const std::string& where, std::size_t searches) {
  if (searches == 0) return;
  result_.repeated.push_back({place(where), std::to_string(searches) +
                                                (searches == 1 ? " search" : " searches") +
                                                " of all plans, by the engine that proofs use"});
}

void ClaimChecker::differs(const std::string& where, const std::string& claimed,
                           const std::string& found) {
  report(where, "the file says " + claimed + ", recomputed " + found);
}

void ClaimChecker::compare(const std::string& where, std::int64_t claimed, std::int64_t found) {
  count();
  if (claimed != found) differs(where, std::to_string(claimed), std::to_string(found));
}

void ClaimChecker::compare(const std::string& where, const std::string& claimed,
                           const std::string& found) {
  count();
  if (claimed != found) differs(where, claimed, found);
}

void ClaimChecker::compare(const std::string& where, double claimed, double found) {
  count();
  if (!is_close(claimed, found)) differs(where, json_number(claimed), json_number(found));
}

void ClaimChecker::compare(const std::string& where, const std::vector<std::int64_t>& claimed,
                           const embedding::Storage& found) {
  for (std::size_t i = 0; i < claimed.size(); ++i)
    compare(where + "/" + std::to_string(i), claimed[i], found[embedding::kMemoryTiers[i]].value());
}

namespace {

using embedding::FoundPlan;
using embedding::SearchSpace;
using embedding::Topology;

bool is_of_search(FailureReason reason) {
  return reason == FailureReason::kNothingFound || reason == FailureReason::kStopped;
}

// Checks that the members of `error`, the certificate and the figures do not contradict each other.
void check_consistency(const PlanDocument& document, ClaimChecker& claims) {
  const ClaimedFailure& failure = *document.failure;
  claims.count();
  if (failure.proof && document.mode == PlanMode::kCompat)
    claims.report("/error/proof", "compat mode proves nothing: its answer is TorchRec's");
  if (failure.proof && failure.reason && is_of_search(*failure.reason)) {
    claims.report("/error/reason", "says that nothing was proved, and `proof` says how");
  }
  const bool by_certificate = failure.proof == AbsenceProof::kCertificate;
  if (by_certificate && !document.certificate)
    claims.report("/error/proof", "names a certificate, and the file has none");
  if (!by_certificate && document.certificate)
    claims.report("/certificate", "is not what `error` names as the proof");
  if (failure.reason == FailureReason::kNegativeReservation)
    claims.report("/error/reason", "what is reserved leaves memory");
  if (failure.proof == AbsenceProof::kReservation)
    claims.report("/error/proof", "what is reserved leaves memory");
  for (const auto& [claimed, key] :
       {std::pair{document.lower_bound.has_value(), "/lower_bound"},
        std::pair{document.gap.has_value(), "/gap"},
        std::pair{document.proven_optimal.has_value(), "/proven_optimal"},
        std::pair{document.best_rating.has_value(), "/best_rating"}}) {
    if (claimed) claims.report(key, "is claimed without a plan");
  }
}

void check_proof_certificate(const SearchSpace& space, const Topology& available,
                             const PlanDocument& document, const Budget& budget,
                             ClaimChecker& claims) {
  if (!document.certificate->excludes_all_plans()) {
    claims.report("/certificate/bound", "must be null in a proof that no plan exists");
    return;
  }
  const auto wrong =
      embedding::check_absence(space, available, *document.certificate, embedding::kAnySteps,
                               [&] { return budget.interrupted().has_value(); });
  claims.take_proof("/certificate", "does not prove that no plan exists: ", wrong,
                    document.certificate->num_searches(), budget);
}

void search_again(const SearchSpace& space, const Topology& available, const Budget& budget,
                  ClaimChecker& claims) {
  const FoundPlan found = embedding::find_any_plan(
      space, available, embedding::kAnyPlanSteps, [&] { return budget.interrupted().has_value(); });
  switch (found.answer) {
    case FoundPlan::Answer::kFound:
      claims.report("/error", "says that no plan exists, but one does");
      return;
    case FoundPlan::Answer::kNoneExists:
      return claims.repeated("/error", 1);
    case FoundPlan::Answer::kTooLarge:
      claims.not_verified(
          "/error",
          "that no plan exists: the file has no certificate, and the problem is too "
          "large to try all plans");
      return;
    case FoundPlan::Answer::kGivenUp:
      claims.not_verified(
          "/error",
          "that no plan exists: the file has no certificate, and trying all plans "
          "takes " +
              (found.steps < embedding::kAnyPlanSteps
                   ? "longer than the check may"
                   : "more than " + std::to_string(embedding::kAnyPlanSteps) + " steps"));
  }
}

}  // namespace

bool claims_absence(const PlanDocument& document) {
  const ClaimedFailure& failure = *document.failure;
  return failure.proof || !failure.reason || implies_absence(*failure.reason);
}

void check_absence_claim(const SearchSpace& space, const Topology& available,
                         const PlanDocument& document, const Budget& budget, ClaimChecker& claims) {
  check_consistency(document, claims);
  if (!claims_absence(document)) return;
  claims.count();
  if (document.certificate) {
    check_proof_certificate(space, available, document, budget, claims);
  } else {
    search_again(space, available, budget, claims);
  }
}

void check_negative_reservation(const PlanDocument& document, ClaimChecker& claims) {
  if (!document.failure) return;
  const ClaimedFailure& failure = *document.failure;
  claims.count();
  if (failure.reason && failure.reason != FailureReason::kNegativeReservation) {
    claims.report("/error/reason", "the reservation takes more than a rank has");
  }
  if (failure.proof && failure.proof != AbsenceProof::kReservation)
    claims.report("/error/proof", "the reservation takes more than a rank has");
  if (document.certificate)
    claims.report("/certificate", "proves nothing that the memory does not");
}

}  // namespace shardwright
