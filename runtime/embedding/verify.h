// The public entry for verifying: recomputes everything that a plan file claims.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/evaluation/evaluate.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

struct Verification {
  struct Finding {
    std::string where;  // JSON pointer in the plan file, or empty
    std::string message;
  };
  std::vector<Finding> violations;
  std::size_t claims = 0;  // how many were compared
  bool has_plan = false;
  // What was recomputed; absent or empty if it could not be.
  std::shared_ptr<const embedding::SearchSpace> search_space;
  std::optional<embedding::Reservation> reservation;
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;

  bool valid() const { return violations.empty(); }
};

// Reserves memory, enumerates options (or takes those of `search_space`), rebuilds and evaluates
// the plan, and compares every number that the file claims. Bytes and ranks must agree exactly,
// times within a relative 1e-9: other planners may have added them in another order. Errors:
// kInvalidInput if the problem itself cannot be enumerated.
Result<Verification> verify_plan(std::shared_ptr<const embedding::Problem> problem,
                                 const PlanDocument& document,
                                 std::shared_ptr<const embedding::SearchSpace> search_space);

}  // namespace shardwright
