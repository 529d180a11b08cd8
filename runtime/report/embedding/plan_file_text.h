// The text report of a plan file, from what the file states alone.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/document/plan_document.h"

namespace shardwright {

// Returns rating, bound, verdict, ranks and tables as the file states them, or why there is no plan.
// Nothing is checked.
std::string plan_file_report(const PlanDocument& plan, std::size_t width);

}  // namespace shardwright
