// Reads embedding problems, plans them and checks the answers.
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

// Returns null if the text is no valid problem. Expects that an error has a message.
ProblemPointer read_valid_problem(std::string_view text);

// Returns true if planning takes milliseconds. Larger problems are legal but slow.
bool is_small(const embedding::Problem& problem);

// Returns null if the text is no valid problem or the problem is not small.
ProblemPointer read_small_problem(std::string_view text);

// Returns options for one thread and a small work limit.
PlanOptions short_search(PlanMode mode);

// Writes the plan file of a result and reads it. Expects that the file is readable JSON.
PlanDocument document_of(const embedding::Problem& problem, const EmbeddingPlanResult& result);

// Expects that the verifier accepts the answer and its rating, and that the bound is not above the
// rating. `space` is the space that the search got, or null.
void expect_sound(const ProblemPointer& problem, const EmbeddingPlanResult& result,
                  const SpacePointer& space);

}  // namespace shardwright::fuzz
