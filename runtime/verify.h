// Checks a plan from a file against everything that can be recomputed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/embedding/evaluate.h"
#include "core/embedding/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/io/plan_json.h"

namespace shardwright {

struct Verification {
  struct Finding {
    std::string where;  // JSON pointer in the plan file, or empty
    std::string message;
  };
  std::vector<Finding> violations;
  std::size_t claims = 0;            // that were compared
  embedding::Evaluation evaluation;  // empty where the plan could not be rebuilt
  bool has_plan = false;

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
