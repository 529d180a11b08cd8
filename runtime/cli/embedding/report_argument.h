// --report FILE: the HTML report, if the command is built with it.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright::cli {

// Does nothing if the command is built without HTML reports.
void add_report_argument(CLI::App& command, std::string& path);

// Writes the page if `path` is not empty. Errors: those of writing a file.
Status write_report(const std::string& path, const embedding::Problem& problem,
                    const EmbeddingPlanResult& result, double read_s);

}  // namespace shardwright::cli
