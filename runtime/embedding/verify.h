// Checks a plan from a file against everything that can be recomputed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/plan_document.h"
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
  std::size_t claims = 0;            // that were compared
  bool has_plan = false;
  // What was recomputed; absent or empty where it could not be.
  std::shared_ptr<const embedding::SearchSpace> search_space;
  std::optional<Reservation> reservation;
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;

  bool valid() const { return violations.empty(); }
};

// Reserves, enumerates (or takes `search_space`), rebuilds the plan with its ranks, evaluates it
// and compares every number that the file claims. Memory and ranks must agree exactly, times
// within 1e-9 of their size: other planners may have added them in another order.
// Errors: kInvalidInput where the problem itself cannot be enumerated.
Result<Verification> verify_plan(std::shared_ptr<const embedding::Problem> problem,
                                 const PlanDocument& document,
                                 std::shared_ptr<const embedding::SearchSpace> search_space);

}  // namespace shardwright
