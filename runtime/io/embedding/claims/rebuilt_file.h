// The plan file that the planner would have written for a plan that was verified.
#pragma once

#include <memory>
#include <optional>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/json/json_document.h"

namespace shardwright {

// What a rebuilt file holds beyond what every file holds.
struct RebuiltParts {
  bool stats = false;
  bool search_space = false;
  std::optional<Migration> migration;
};

// Everything that follows from the problem and the plan is recomputed. The history of the search is
// that of `document`, as far as it holds it, and zero otherwise. Precondition: `verification` is
// that of `document`, and its plan was rebuilt if the document has one.
Result<JsonDocument> rebuild_file(const embedding::Problem& problem, const PlanDocument& document,
                                  const Verification& verification, RebuiltParts parts);

}  // namespace shardwright
