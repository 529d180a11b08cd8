#include "runtime/embedding/planning.h"

#include <string>
#include <utility>

#include "core/embedding/evaluate.h"
#include "runtime/embedding/memory_parts.h"
#include "runtime/report/text/format.h"
#include "search/embedding/compat/diagnose.h"

namespace shardwright {

std::optional<std::uint64_t> work_limit_of(const PlanOptions& options) {
  const bool limited = options.work_limit || options.time_limit_s;
  if (limited || options.mode == PlanMode::kCompat) return options.work_limit;
  return kDefaultBestWork;
}

Planning::Planning(std::shared_ptr<const embedding::Problem> asked, const PlanOptions& how,
                   std::shared_ptr<const embedding::SearchSpace> given)
    : problem(std::move(asked)),
      options(how),
      space(std::move(given)),
      budget(work_limit_of(how), how.time_limit_s, how.stop),
      executor(how.threads) {
  result.problem = problem;
  result.mode = how.mode;
  result.given_search_space = space != nullptr;
}

const embedding::SearchParts& Planning::parts() const {
  static const embedding::SearchParts kNone;
  return options.parts == nullptr ? kNone : *options.parts;
}

void Planning::keep(const embedding::Plan& plan, double rating) {
  result.plan = plan;
  result.best_rating = rating;
  result.evaluation = embedding::evaluate(*problem, available(), plan);
}

namespace {

std::string no_plan_fits(AbsenceProof proof) {
  if (proof == AbsenceProof::kCertificate) return "No plan fits, which the certificate proves.";
  return "No plan fits: every option of every table was tried on every rank that the placement "
         "rules allow.";
}

// Returns a sentence on what helps. If all ranks together lack memory, only more memory does.
std::string remedy_for(const Planning& planning) {
  const embedding::Reservation* const reservation =
      planning.result.reservation ? &*planning.result.reservation : nullptr;
  const MemoryNeeds needs = memory_needs(*planning.problem, planning.space.get(), reservation);
  const bool lacks_hbm = needs.hbm > needs.available.hbm;
  if (lacks_hbm || needs.total > needs.available.sum()) {
    return "The tables need at least " + format_bytes(lacks_hbm ? needs.hbm : needs.total) +
           (lacks_hbm ? " of HBM" : " of memory") + ", and all ranks together have " +
           format_bytes(lacks_hbm ? needs.available.hbm : needs.available.sum()) +
           " left for them: only more memory per rank, more ranks or smaller tables help.";
  }
  return "Ranks with more memory, more ranks or fewer placement rules may help; `shardwright "
         "explain` tries them.";
}

// Turns an error into a sentence with a full stop.
std::string sentence_of(const Error& error) {
  return (error.where.empty() ? "" : error.where + ": ") + error.message + ".";
}

}  // namespace

PlanFailure negative_reservation(const Error& error) {
  return {FailureType::kInsufficientStorage, FailureReason::kNegativeReservation,
          sentence_of(error), AbsenceProof::kReservation};
}

PlanFailure no_option_left(const Error& error) {
  return {FailureType::kStrictConstraints, FailureReason::kPlacementRules, sentence_of(error)};
}

PlanFailure nothing_kept(const Planning& planning, const embedding::OptionPool& pool,
                         const embedding::EmbeddingSearch& search) {
  if (search.num_plans() > 0) {
    return {
        FailureType::kInsufficientStorage, FailureReason::kRatingsTooLarge,
        "Proposals fit, but the time of every one exceeds 2^63 ms, which no plan may; check the "
        "bandwidths, the multipliers of the topology and the costs of the search space."};
  }
  if (!search.lowest_failed_storage()) {
    // As in TorchRec, a search without proposals counts as a lack of storage.
    return {FailureType::kInsufficientStorage, FailureReason::kNothingProposed,
            "No proposer proposed anything: grid proposes nothing above max_proposals, uniform "
            "nothing where no sharding type is offered by every table. Add a greedy proposer."};
  }
  if (planning.parts().partitioner) {
    return {FailureType::kPartition, FailureReason::kNothingPlaced,
            "The program's own partitioner placed none of " +
                std::to_string(search.num_proposals()) + " proposals."};
  }
  return embedding::diagnose(pool, planning.available(), search.lowest_failed_options(),
                             *search.lowest_failed_storage(), planning.budget);
}

PlanFailure stopped_by_work_limit(PlanFailure so_far) {
  so_far.type = FailureType::kOther;
  so_far.reason = FailureReason::kStopped;
  so_far.message =
      "The work limit ended the search before anything fitted. So far: " + so_far.message;
  return so_far;
}

PlanFailure nothing_found(const Planning& planning, std::optional<PlanFailure> compat,
                          std::optional<AbsenceProof> proof) {
  const std::string nothing =
      "No plan that fits was found, and none was shown to be impossible. More memory per rank, "
      "fewer placement rules or a larger --work-limit may help.";
  if (!compat || compat->reason == FailureReason::kStopped) {
    if (!proof) return {FailureType::kOther, FailureReason::kNothingFound, nothing};
    return {FailureType::kPartition, FailureReason::kNoPlanExists,
            no_plan_fits(*proof) + " " + remedy_for(planning), proof};
  }
  PlanFailure failure = *std::move(compat);
  failure.proof = proof;
  if (proof) {
    if (failure.reason != FailureReason::kTableFitsNowhere)
      failure.message += " " + no_plan_fits(*proof);
    // The messages of other reasons already say what is needed.
    if (failure.reason == FailureReason::kDoesNotPack)
      failure.message += " " + remedy_for(planning);
  } else if (implies_absence(failure.reason)) {
    failure = {FailureType::kOther, FailureReason::kNothingFound,
               nothing + " The first search says: " + failure.message};
  }
  return failure;
}

}  // namespace shardwright
