// Refuses to write a file that the same command reads, and to read standard input twice.
#pragma once

#include <CLI/CLI.hpp>

#include "core/status.h"

namespace shardwright::cli {

// Checks the command that was parsed. Errors: kInvalidInput if two inputs are standard input, or if
// the answer or the report would replace an input or each other. The answer and its checkpoint may
// be the same file, and may replace the plan of --reuse (which is then a cache) or --resume.
Status check_paths(const CLI::App& app);

}  // namespace shardwright::cli
