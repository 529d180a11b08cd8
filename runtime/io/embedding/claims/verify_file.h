// Verifies a whole plan file: every value of it is recomputed, or named as not checked.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/verify.h"
#include "search/budget.h"

namespace shardwright {

// What is needed to check some claims.
struct VerifyInputs {
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null: enumerate
  std::optional<std::vector<PlanEntry>> old_plan;              // that `replan` began with
  Budget budget = {};
};

// Does what verify_plan() does. Then writes the file that the planner would have written for the
// plan and compares the two, key by key. A file with a `format` must have all keys that the planner
// writes; any other file was made by somebody else, and claims what it has. `not_verified` says
// what would have to be given, or which limit was reached. `not_checked` names what was not
// compared. Errors: kInvalidInput with a JSON pointer for a text that is no plan file; as
// verify_plan().
Result<Verification> verify_plan_file(const std::shared_ptr<const embedding::Problem>& problem,
                                      std::string_view text, const VerifyInputs& inputs = {});

}  // namespace shardwright
