// Explanations as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/embedding/explain/explain.h"

namespace shardwright {

// All options of each table, or a row per table if there are many; or why nothing fits, and the
// smallest changes that help.
std::string explain_report(const Explanation& explanation, std::size_t width);

}  // namespace shardwright
