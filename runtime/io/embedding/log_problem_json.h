// Writes the problem that a planner's log tells of.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Writes a problem file with the members that problem_of_log() sets. Tables must have names that
// are unique in the problem, since constraints are by name. O(tables).
void write_log_problem(const embedding::Problem& problem, const TextSink& sink);

}  // namespace shardwright
