// The public entry for verification: recomputes what a plan file claims.
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
  std::shared_ptr<const embedding::Problem> problem;  // set by verify_plan_file()
  struct Finding {
    std::string where;  // JSON pointer in the plan file, or empty
    std::string message;
  };
  std::vector<Finding> violations;
  // Important claims that were neither confirmed nor refuted. The messages say what input is
  // missing or which limit was reached.
  std::vector<Finding> not_verified;
  // Claims whose check repeated a search over all plans, with the search engine of the proofs. For
  // all others, options and costs come from the planner's own enumeration and cost model; sums,
  // rules and proof were checked by code independent of the search.
  std::vector<Finding> repeated;
  // Members of the file that no check covers, such as "timing"; see runtime/cli/README.md.
  std::vector<std::string> not_checked;
  std::size_t claims = 0;  // number of claims compared
  bool has_plan = false;
  // The first violation: the plan was made for another machine. Others may follow from that.
  bool other_machine = false;
  bool given_search_space = false;  // the problem's hash covers the caller's search space
  // Recomputed values; absent or empty if they could not be recomputed.
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
// the plan, and compares every number that `document` holds. Bytes and ranks must be equal. Times
// may differ by a relative 1e-9, since other planners may have added them in another order. For the
// rest of a file see verify_plan_file() (runtime/io/embedding/verify_file.h). A claim that no plan
// exists is proved again (claim_checker.h). The steps of a certificate's check are limited by its
// size, and the budget limits everything; claims not checked by then are listed as not verified.
// Errors: kInvalidInput if the problem itself cannot be enumerated.
Result<Verification> verify_plan(std::shared_ptr<const embedding::Problem> problem,
                                 const PlanDocument& document,
                                 std::shared_ptr<const embedding::SearchSpace> search_space,
                                 const Budget& budget = {});

}  // namespace shardwright
