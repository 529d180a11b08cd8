#include "runtime/io/embedding/claims/layout_claims.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/embedding/claim_checker.h"
#include "runtime/embedding/layouts/layout_problem.h"
#include "runtime/io/embedding/plan/plan_reader.h"

namespace shardwright {
namespace {

using embedding::MachineLayout;
using embedding::Problem;
using Finding = Verification::Finding;

void add_findings(std::vector<Finding> own, const std::string& where, std::vector<Finding>& all) {
  for (Finding& finding : own) {
    finding.where = where + finding.where;
    all.push_back(std::move(finding));
  }
}

// One call of check_other_layouts().
// Thread safety: one thread at a time.
class LayoutClaims {
 public:
  LayoutClaims(const Problem& asked, const PlanDocument& document, const VerifyOneLayout& verify,
               Verification& result)
      : asked_(asked), document_(document), verify_(verify), result_(result), claims_(result) {
    if (const auto own = document.layout_on(asked.topology())) layouts_.insert(*own);
  }

  Status check(JsonValue other) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument document, read_plan(other));
    const std::string where = other.pointer();
    const std::optional<MachineLayout> layout = document.layout_on(asked_.topology());
    if (!layout || !layouts_.insert(*layout).second) {
      claims_.report(where, "does not say for which layout it is, or is there twice");
      return {};
    }
    const auto problem = layout_problem(asked_, *layout);
    if (!problem.ok()) {
      claims_.report(where, problem.error().message);
      return {};
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(Verification own, verify_(*problem, other));
    compare(document, own, where);
    result_.claims += own.claims;
    add_findings(std::move(own.violations), where, result_.violations);
    add_findings(std::move(own.not_verified), where, result_.not_verified);
    add_findings(std::move(own.repeated), where, result_.repeated);
    return {};
  }

  // The bound of the file is one for all layouts.
  void require_all_layouts() {
    if (!document_.lower_bound) return;
    for (const MachineLayout& layout : asked_.topology().layouts()) {
      if (!layouts_.contains(layout))
        claims_.report("/lower_bound",
                       "says nothing of sharding groups of " + std::to_string(layout.group_size) +
                           " ranks with pods of " + std::to_string(layout.pod_size) + " hosts");
    }
  }

 private:
  void compare(const PlanDocument& other, const Verification& own, const std::string& where) {
    claims_.count();
    if (own.has_plan && (!result_.has_plan || own.evaluation.rating < result_.evaluation.rating))
      claims_.report(where, "has a better plan than the file");
    if (!document_.lower_bound || (other.failure && other.failure->proof)) return;
    if (!other.lower_bound || *other.lower_bound < *document_.lower_bound)
      claims_.report("/lower_bound", "exceeds that of " + where);
  }

  const Problem& asked_;
  const PlanDocument& document_;
  const VerifyOneLayout& verify_;
  Verification& result_;
  ClaimChecker claims_;
  std::set<MachineLayout> layouts_;
};

}  // namespace

Status check_other_layouts(const Problem& asked, const PlanDocument& document, JsonValue file,
                           const VerifyOneLayout& verify, Verification& result) {
  LayoutClaims claims(asked, document, verify, result);
  if (const auto others = file.find("other_layouts")) {
    if (!others->is_array()) return others->expected("a list of plan files");
    for (std::size_t i = 0; i < others->size(); ++i)
      SHARDWRIGHT_RETURN_IF_ERROR(claims.check((*others)[i]));
  }
  claims.require_all_layouts();
  return {};
}

}  // namespace shardwright
