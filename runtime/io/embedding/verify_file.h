// Compares a JSON value of a plan file with the value that was recomputed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/claim_checker.h"
#include "runtime/embedding/plan_stats.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/json/json_members.h"
#include "search/budget.h"

namespace shardwright {

// Which members an object of the file must have.
enum class Members {
  kAll,   // exactly the recomputed members
  kSome,  // any of the recomputed members, and no others
};

// Compares values at any depth. Numbers may differ by ClaimChecker::kTolerance. Reports every
// difference with its place, unless the place has a report already. O(size of both).
void compare_values(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

// Compares keys, lengths of lists and types of values, but no values.
void compare_keys(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

// The optional parts of a rebuilt file.
struct RebuiltParts {
  bool stats = false;
  bool search_space = false;
  std::optional<Migration> migration;
};

// Writes a plan file anew: recomputes everything that follows from the problem and the plan, and
// copies the history of the search from `document` (0 where it has none). Precondition:
// `verification` is that of `document`, and has a plan if the document has one.
Result<JsonDocument> rebuild_file(const embedding::Problem& problem, const PlanDocument& document,
                                  const Verification& verification, RebuiltParts parts);

// Returns the file that compat mode writes for the problem, with `proposals` if `trace` is set.
// Returns nothing if compat mode needs more than 2^27 placed shards (about a second) or more time
// than the budget has. Errors: as plan_embedding().
Result<std::optional<JsonDocument>> plan_in_compat_mode(
    const std::shared_ptr<const embedding::Problem>& problem,
    std::shared_ptr<const embedding::SearchSpace> search_space, bool trace, const Budget& budget);

// Verifies one plan file for a problem with one layout.
using VerifyOneLayout = std::function<Result<Verification>(
    const std::shared_ptr<const embedding::Problem>& problem, JsonValue file)>;

// Verifies each plan file under `other_layouts`, which has one for every other layout of the
// machine. No layout may have a better plan than the file, or a lower bound below the file's. If
// `asked` leaves the layout open, the bound of the file needs all layouts. `document` was read from
// `file`. Adds findings to `result`. Errors: as `verify`.
Status check_other_layouts(const embedding::Problem& asked, const PlanDocument& document,
                           JsonValue file, const VerifyOneLayout& verify, Verification& result);

// Inputs without which some claims cannot be checked.
struct VerifyInputs {
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null: options are enumerated
  std::optional<std::vector<PlanEntry>> old_plan;              // that `replan` began with
  Budget budget = {};
};

// Calls verify_plan(), then rebuilds the file that the planner would have written for the plan and
// compares the two, key by key. A file with a `format` must have all keys that the planner writes;
// a file of another program claims only what it contains. `not_verified` says which input is
// missing or which limit was reached. `not_checked` names the keys that were not compared. Errors:
// kInvalidInput with a JSON pointer for a text that is no plan file; as verify_plan().
Result<Verification> verify_plan_file(const std::shared_ptr<const embedding::Problem>& problem,
                                      std::string_view text, const VerifyInputs& inputs = {});

// What `verify` answers.
struct VerificationAnswer {
  Verification verification;
  std::optional<PlanStats> stats;  // absent if not asked for, or if nothing could be recomputed
};
void describe(JsonMembers& members, VerificationAnswer& answer);
JsonShape verification_shape();

}  // namespace shardwright
