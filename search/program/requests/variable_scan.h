// Collects what planning needs to know about the variables of a program.
#pragma once

#include "core/program/program.h"
#include "core/status.h"
#include "search/program/requests/requests.h"

namespace shardwright::program {

// Fills `generated_names`, `lod_feeds` and `shapes`, and counts the variables.
// Errors: kInvalidInput if a batch dimension is open, or if a tensor is too large. O(variables).
Status scan_variables(const Program& program, Requests& found);

}  // namespace shardwright::program
