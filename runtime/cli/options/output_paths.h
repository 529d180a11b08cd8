// Refuses to write a file that the same command reads.
#pragma once

#include <CLI/CLI.hpp>

#include "core/status.h"

namespace shardwright::cli {

// Checks the command that was parsed. Errors: kInvalidInput if the answer or the report would
// replace an input or each other. The answer and its checkpoint may be one file, and may replace
// the plan of --reuse, which is then a cache, or that of --resume.
Status check_output_paths(const CLI::App& app);

}  // namespace shardwright::cli
