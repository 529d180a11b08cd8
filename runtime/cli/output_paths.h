// Refuses to overwrite a file that the same command reads, and to read standard input twice.
#pragma once

#include <CLI/CLI.hpp>

#include "core/status.h"

namespace shardwright::cli {

// Checks the paths of a parsed command. Errors: kInvalidInput if two inputs are standard input, or
// if the answer or the report would overwrite an input or each other. Answer and checkpoint may be
// the same file. Either may overwrite the plan of --reuse (which then is a cache) or of --resume.
Status check_paths(const CLI::App& app);

}  // namespace shardwright::cli
