// The public entries for placing the experts of a mixture-of-experts model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/experts/expert_problem.h"
#include "core/status.h"
#include "search/experts/plan_experts.h"

namespace shardwright {

struct ExpertsOptions {
  bool compat = false;  // plan as EPLB
  experts::PlanRules rules;
  int threads = 0;  // 0 = all cores
  std::optional<double> time_limit_s;
  std::stop_token stop;
};

// A plan and what it is compared with. Times are sums over layers of the busiest GPU, over windows
// as the options say.
struct ExpertsAnswer {
  experts::PlannedExperts planned;
  double eplb_time = 0;
  std::optional<double> old_time;  // with an old placement
  double mean_time = 0;            // if all GPUs were equally busy
  double bound = 0;                // sum of lower bounds
  // With link costs: link_cost() of the old placement, or else of EPLB's.
  std::optional<double> link_cost_before;
};

// Errors: kInvalidInput for an old placement that does not fit the problem ("/old/..."), and for
// bad limits. Thread safety: may be called from any number of threads at once.
Result<ExpertsAnswer> plan_experts(const experts::ExpertProblem& problem,
                                   const ExpertsOptions& options);

// Checks every claim of a plan, and returns it with what it is compared with. Errors: as
// experts::check_plan(); kInvalidInput as above.
Result<ExpertsAnswer> verify_experts(const experts::ExpertProblem& problem,
                                     experts::ExpertPlan plan, const ExpertsOptions& options);

// A machine of a sweep.
struct ExpertsPoint {
  std::size_t num_gpus = 0;
  std::size_t num_slots = 0;
  double time = 0;
  double mean_time = 0;
  double bound = 0;
};

struct ExpertsSweep {
  std::vector<ExpertsPoint> points;
  std::size_t left_out = 0;  // numbers that do not fit each other
  StopReason stop = StopReason::kFinished;
};

// Plans for every number of GPUs and slots that fit each other and `spec`, in the order of the
// lists; a time limit is for all together. Errors: kInvalidInput if none fits.
Result<ExpertsSweep> sweep_experts(const experts::ExpertSpec& spec,
                                   const std::vector<std::int64_t>& gpus,
                                   const std::vector<std::int64_t>& slots,
                                   const ExpertsOptions& options);

}  // namespace shardwright
