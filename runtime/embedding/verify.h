// The public entry for verifying: recomputes what a plan claims.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"
#include "search/budget.h"

namespace shardwright {

struct Verification {
  std::shared_ptr<const embedding::Problem> problem;  // the one answered; by verify_plan_file
  struct Finding {
    std::string where;  // JSON pointer in the plan file, or empty
    std::string message;
  };
  std::vector<Finding> violations;
  // Claims that matter and were neither confirmed nor refuted. The messages say what would have to
  // be given, or which limit was reached.
  std::vector<Finding> not_verified;
  // Claims whose check repeated a search of all plans with the engine that proofs use. All others
  // were recomputed by code that knows nothing of the search.
  std::vector<Finding> repeated;
  // What the file says and nobody checks, such as "timing"; see runtime/cli/README.md.
  std::vector<std::string> not_checked;
  std::size_t claims = 0;  // how many were compared
  bool has_plan = false;
  // The first violation is that the plan was made for another machine; others may follow from it.
  bool other_machine = false;
  bool given_search_space = false;  // the problem's hash covers the caller's search space
  // What was recomputed; absent or empty if it could not be.
  std::shared_ptr<const embedding::SearchSpace> search_space;
  std::optional<embedding::Reservation> reservation;
  std::optional<embedding::Plan> plan;
  embedding::Evaluation evaluation;

  // Returns true if no claim is known to be false.
  bool valid() const { return violations.empty(); }
  // Returns true if every claim that matters was checked and holds.
  bool verified() const { return violations.empty() && not_verified.empty(); }
};

// Reserves memory, enumerates options (or takes those of `search_space`), rebuilds and evaluates
// the plan, and compares every number that `document` holds. Bytes and ranks must agree exactly,
// times within a relative 1e-9: other planners may have added them in another order. The rest of a
// file is compared by verify_plan_file() (runtime/io/embedding/verify_file.h). A claim that no plan
// exists is proved again (claim_checker.h). The size of a certificate limits the steps of its
// check, and the budget limits everything; what was not checked by then is listed as not verified.
// Errors: kInvalidInput if the problem itself cannot be enumerated.
Result<Verification> verify_plan(std::shared_ptr<const embedding::Problem> problem,
                                 const PlanDocument& document,
                                 std::shared_ptr<const embedding::SearchSpace> search_space,
                                 const Budget& budget = {});

}  // namespace shardwright
