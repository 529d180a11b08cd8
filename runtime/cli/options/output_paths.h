// Files that a command writes are none that it reads.
#pragma once

#include <CLI/CLI.hpp>

#include "core/status.h"

namespace shardwright::cli {

// Of the command that was parsed: an answer or a report that would replace an input, or each other,
// is an error. The answer may replace the plan that --reuse read: the file is then a cache.
Status check_output_paths(const CLI::App& app);

}  // namespace shardwright::cli
