// Claims that no plan exists.
#pragma once

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "runtime/embedding/claim_checker.h"
#include "search/budget.h"

namespace shardwright {

// Returns true if the file says that no plan exists, rather than that none was found.
bool claims_absence(const PlanDocument& document);

// For a file without a plan. If it claims that none exists, proves that again: by the certificate,
// or else by trying all plans (find_any_plan). Reports a violation if a plan exists, if the
// certificate proves nothing, or if `error` contradicts itself; lists the claim as not verified if
// neither way ends within its limits and those of the budget. `available` is the topology after
// reservation and margin.
void check_absence_claim(const embedding::SearchSpace& space, const embedding::Topology& available,
                         const PlanDocument& document, const Budget& budget, ClaimChecker& claims);

// For a problem whose reservation exceeds its memory, which proves that no plan exists.
void check_negative_reservation(const PlanDocument& document, ClaimChecker& claims);

}  // namespace shardwright
