// Verification of plans in JSON texts.
#include <string>

#include "runtime/capi/boundary.h"
#include "runtime/capi/shardwright.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan/plan_json.h"

using namespace shardwright;
using namespace shardwright::capi;

shardwright_status shardwright_verify(const shardwright_problem* problem,
                                      const shardwright_search_space* space, const char* plan,
                                      size_t size, shardwright_verification** verification) {
  return guarded([&] {
    HandleOutput out(verification, "verification");
    const Inputs inputs(problem, space);
    const PlanDocument document = take(read_plan(given_text(plan, size, "plan")));
    out.set(std::make_shared<const Verification>(
        take(verify_plan(inputs.problem, document, inputs.space))));
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
