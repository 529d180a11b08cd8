// --report FILE: the report as a page, where the command is built with it.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright::cli {

// Adds nothing where the command is built without pages.
void add_report_argument(CLI::App& command, std::string& path);

// Writes the page where a path is given. Errors: those of writing a file.
Status write_report(const std::string& path, const embedding::Problem& problem,
                    const EmbeddingPlanResult& result, double read_s);

}  // namespace shardwright::cli
