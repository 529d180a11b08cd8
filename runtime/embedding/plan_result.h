// The result of planning embedding tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/document/plan_document.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/plan_failure.h"
#include "core/embedding/plan_mode.h"
#include "core/embedding/search_space.h"
#include "core/stop_reason.h"
#include "runtime/embedding/verdict.h"
#include "search/embedding/compat/proposals.h"
#include "search/embedding/compat/storage_reservations.h"

namespace shardwright {

// All proposals in their order. `options[i]` is option i of the declared search space; the options
// after those were added by a proposer (caches of another size).
struct ProposalTrace {
  std::vector<const embedding::ShardingOption*> options;
  std::vector<embedding::ProposalRecord> proposals;
  std::shared_ptr<const void> owner;  // keeps `options` alive
};

// A plan before balance_memory().
struct UnbalancedPlan {
  double rating = 0;                                // as the result's best_rating
  std::vector<embedding::Storage> storage_by_rank;  // of tables
};

struct PlanTiming {
  double enumerate_s = 0;
  double reserve_s = 0;
  double explore_s = 0;
  double total_s = 0;
};

// Counts that do not depend on the machine or the number of threads.
struct PlanWork {
  std::uint64_t work_steps = 0;  // shards placed; best mode adds steps of its search and proofs
  // Length of the longest chain of dependent steps in best mode's own search. The search would take
  // this many steps with unlimited threads.
  std::uint64_t span_steps = 0;
  std::uint64_t proposals_evaluated = 0;
  embedding::PlanCopies plans;  // what storage the plans copied and shared
};

// A plan found by replan_on_front().
struct ReplanPoint {
  double weight = 0;             // ms per GiB; the weight of this planning
  std::int64_t moved_bytes = 0;  // from the plan in use
  double rating = 0;
};

struct EmbeddingPlanResult {
  // The given problem, with the layout that was chosen.
  std::shared_ptr<const embedding::Problem> problem;
  PlanMode mode = PlanMode::kBest;
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null if none was enumerated
  bool given_search_space = false;                             // the caller gave it
  bool reused = false;  // taken from a plan file; nothing was searched
  std::optional<embedding::Reservation> reservation;  // absent if reserving failed
  std::uint64_t num_proposals = 0;
  std::uint64_t num_plans = 0;
  std::optional<double> best_rating;  // ms, or bytes for the storage model
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;  // of the plan, by the verifier
  // Best mode: no plan of the search space rates below this bound, which the certificate proves.
  std::optional<double> lower_bound;
  std::optional<embedding::BoundCertificate> certificate;
  // Why no bound is claimed: the check of its certificate failed or took too long. Empty otherwise.
  // If a stop ended the check of PlanOptions::proved, `certificate` holds it unchecked.
  std::string bound_refusal;
  std::vector<embedding::ImprovementStep> improvements;  // in the order of work
  // Best mode: the rating of TorchRec's plan, from which the search began. If `compat_is_complete`
  // is false, some proposals were not tried, and TorchRec's planner may find a better plan. Absent
  // if no proposal fits, or if the problem has rules that TorchRec lacks.
  std::optional<double> compat_rating;
  bool compat_is_complete = false;
  std::vector<WhatIf> what_ifs;  // of plan_what_ifs(); empty unless the caller planned them
  std::optional<UnbalancedPlan> before_balance;  // absent unless balance_memory() was asked
  std::optional<PlanFailure> failure;
  std::optional<ProposalTrace> trace;
  std::vector<ReplanPoint> front;     // of replan_on_front(), by bytes moved
  std::optional<double> front_bound;  // no plan that moves at most `front_bytes` rates below this
  std::int64_t front_bytes = 0;
  std::optional<Migration> migration;  // of replan_embedding
  // Answers for the other layouts of the machine, if best mode chose among several. `lower_bound`
  // then holds for the plans of all layouts.
  std::vector<EmbeddingPlanResult> other_layouts;
  PlanWork work;
  int threads = 1;
  StopReason stopped_by = StopReason::kFinished;
  PlanTiming timing;
};

// Returns the relative distance of a rating from its bound; 0 means optimal.
inline double gap(double rating, double lower_bound) {
  return rating > 0 ? std::max(0.0, (rating - lower_bound) / rating) : 0;
}
// A plan with at most this gap counts as proved optimal.
inline constexpr double kProvenGap = 1e-4;

}  // namespace shardwright
