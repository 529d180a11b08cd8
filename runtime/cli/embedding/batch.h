// plan --batch: many problems, one line of JSON for each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/commands/embedding/embedding_commands.h"

namespace shardwright::cli {

// Errors: kInvalidInput for an option that belongs to a single problem, and for standard input.
Status check_batch(const PlanArguments& arguments, const std::vector<std::string>& paths);

// Plans the problems, each in one of the processes as these become free, and writes the answers in
// the order of the files. A problem that cannot be read or planned has a line that says why.
// Returns the exit status of the first problem whose status is not 0. `request`: that of any of the
// problems.
int plan_batch(const commands::PlanRequest& request, const OutputArguments& output,
               const std::vector<std::string>& paths, Crew& crew);

}  // namespace shardwright::cli
