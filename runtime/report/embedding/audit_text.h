// An audit of a planner's log as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/embedding/audit.h"

namespace shardwright {

// Returns what the plan in use, the best plans and the changes are worth, then the constants that
// costs were inferred with, and what the log cannot tell.
std::string audit_report(const AuditAnswer& audit, std::size_t width);

// Returns why the planning failed and what would help.
std::string failed_report(const FailedAnswer& answer, std::size_t width);

// Returns one sentence: the rating in use, the best ratings, and how many changes reach most.
std::string audit_summary(const AuditAnswer& audit);

}  // namespace shardwright
