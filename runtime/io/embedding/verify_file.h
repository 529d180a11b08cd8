// Verifies plan files: compares the JSON of a file with recomputed JSON.
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

// Which members a claimed object must have.
enum class Members {
  kAll,   // all recomputed members and no others
  kSome,  // some recomputed members and no others
};

// Compares values recursively. Numbers may differ by ClaimChecker::kTolerance. Reports each
// difference once, with its place. Cost: O(size of both).
void compare_values(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

// Compares keys, list lengths and types, but not values.
void compare_keys(JsonValue claimed, JsonValue found, Members members, ClaimChecker& claims);

// Optional parts of a rebuilt file.
struct RebuiltParts {
  bool stats = false;
  bool search_space = false;
  std::optional<Migration> migration;
};

// Rebuilds a plan file: recomputes what follows from problem and plan, and copies the history of
// the search from `document` (0 where it has none). Precondition: `verification` is that of
// `document`, and has a plan if `document` has one.
Result<JsonDocument> rebuild_file(const embedding::Problem& problem, const PlanDocument& document,
                                  const Verification& verification, RebuiltParts parts);

// Returns the file that compat mode writes for the problem, with `proposals` if `trace` is true.
// Returns nullopt if compat mode would place more than 2^27 shards (about 1 s) or the budget ends
// first. Errors: as plan_embedding().
Result<std::optional<JsonDocument>> plan_in_compat_mode(
    const std::shared_ptr<const embedding::Problem>& problem,
    std::shared_ptr<const embedding::SearchSpace> search_space, bool trace, const Budget& budget);

// Verifies the plan file of a problem with one layout.
using VerifyOneLayout = std::function<Result<Verification>(
    const std::shared_ptr<const embedding::Problem>& problem, JsonValue file)>;

// Verifies each plan file in `other_layouts`, one for every other layout of the machine. Reports a
// violation if one of them has a better plan than the file or a lower bound below the file's. If
// `asked` leaves the layout open, the file's bound also requires that all layouts are there.
// `document` was read from `file`. Adds findings to `result`. Errors: as `verify`.
Status check_other_layouts(const embedding::Problem& asked, const PlanDocument& document,
                           JsonValue file, const VerifyOneLayout& verify, Verification& result);

// Optional inputs; without them, some claims cannot be checked.
struct VerifyInputs {
  std::shared_ptr<const embedding::SearchSpace> search_space;  // null if options are enumerated
  std::optional<std::vector<PlanEntry>> old_plan;              // from which `replan` started
  Budget budget = {};
};

// Calls verify_plan(), then rebuilds the file that the planner would write for the plan and
// compares it with the given file key by key. A file with a `format` must have all keys that the
// planner writes; a file of another program claims only what it contains. `not_verified` says which
// input is missing or which limit was reached. `not_checked` names the keys that were not compared.
// Errors: kInvalidInput with a JSON pointer if the text is no plan file; as verify_plan().
Result<Verification> verify_plan_file(const std::shared_ptr<const embedding::Problem>& problem,
                                      std::string_view text, const VerifyInputs& inputs = {});

// The answer of `verify`.
struct VerificationAnswer {
  Verification verification;
  std::optional<PlanStats> stats;  // absent if not requested or not recomputable
};
void describe(JsonMembers& members, VerificationAnswer& answer);
JsonShape verification_shape();

}  // namespace shardwright
