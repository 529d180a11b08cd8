// Reads embedding problems, plans them, and checks the answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright::fuzz {

using ProblemPointer = std::shared_ptr<const embedding::Problem>;
using SpacePointer = std::shared_ptr<const embedding::SearchSpace>;

// Null if the text is no valid problem. Expects errors to say something.
ProblemPointer read_valid_problem(std::string_view text);

// True if planning takes milliseconds. Larger problems are legal and tested elsewhere.
bool is_small(const embedding::Problem& problem);

// Null if the text is no valid problem, or none that is small.
ProblemPointer read_small_problem(std::string_view text);

// One thread and a small work limit.
PlanOptions short_search(PlanMode mode);

// The plan file of a result, read back. Expects it to be JSON and to be readable.
PlanDocument document_of(const embedding::Problem& problem, const EmbeddingPlanResult& result);

// Expects the verifier to accept the answer, the verifier and the plan to agree on the rating, and
// the bound to be no higher than it. `space` is what the search was given, or null.
void expect_sound(const ProblemPointer& problem, const EmbeddingPlanResult& result,
                  const SpacePointer& space);

}  // namespace shardwright::fuzz
