// Verification of plans in JSON texts.
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/claims/verify_file.h"
#include "runtime/io/embedding/plan/plan_json.h"

using namespace shardwright;
using namespace shardwright::capi;

namespace {

// A caller that looks for violations alone must not take an unchecked claim for a true one.
std::shared_ptr<const Verification> with_all_findings(Verification found) {
  for (const Verification::Finding& finding : found.not_verified)
    found.violations.push_back({finding.where, "not verified: " + finding.message});
  return std::make_shared<const Verification>(std::move(found));
}

}  // namespace

shardwright_status shardwright_verify(const shardwright_problem* problem,
                                      const shardwright_search_space* space, const char* plan,
                                      size_t size, shardwright_verification** verification) {
  return guarded([&] {
    HandleOutput out(verification, "verification");
    const Inputs inputs(problem, space);
    out.set(with_all_findings(take(verify_plan_file(inputs.problem, given_text(plan, size, "plan"),
                                                    {inputs.space, std::nullopt}))));
  });
}

shardwright_status shardwright_verify_replan(const shardwright_problem* problem,
                                             const shardwright_search_space* space,
                                             const char* plan, size_t size, const char* old_plan,
                                             size_t old_size,
                                             shardwright_verification** verification) {
  return guarded([&] {
    HandleOutput out(verification, "verification");
    const Inputs inputs(problem, space);
    const PlanDocument old = take(read_plan(given_text(old_plan, old_size, "old_plan")));
    if (!old.plan) fail(SHARDWRIGHT_INVALID_INPUT, "the text holds no plan", "old_plan");
    out.set(with_all_findings(take(verify_plan_file(inputs.problem, given_text(plan, size, "plan"),
                                                    {inputs.space, old.plan}))));
  });
}

shardwright_status shardwright_verification_counts(const shardwright_verification* verification,
                                                   uint64_t* claims, uint64_t* violations) {
  return guarded([&] {
    const auto found = object_of(verification, "verification");
    if (claims != nullptr) *claims = found->claims;
    if (violations != nullptr) *violations = found->violations.size();
  });
}

shardwright_status shardwright_verification_violation(const shardwright_verification* verification,
                                                      uint64_t index, char* buffer, size_t capacity,
                                                      size_t* size) {
  return guarded([&] {
    const auto found = object_of(verification, "verification");
    if (index >= found->violations.size()) {
      fail(SHARDWRIGHT_INVALID_ARGUMENT,
           "there are " + std::to_string(found->violations.size()) + " violations", "index");
    }
    const Verification::Finding& finding = found->violations[index];
    const std::string place = finding.where.empty() ? "" : finding.where + ": ";
    put_text(place + finding.message, buffer, capacity, size);
  });
}

shardwright_status shardwright_verification_destroy(shardwright_verification* verification) {
  return destroy(verification, "verification");
}
