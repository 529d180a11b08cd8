// Explanations for people.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/embedding/explain/explain.h"

namespace shardwright {

// All options of few tables, a row per table where there are many; or why nothing fits, and the
// smallest changes that would do.
std::string explain_report(const Explanation& explanation, std::size_t width);

}  // namespace shardwright
