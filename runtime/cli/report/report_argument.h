// --report FILE: the HTML report, if the command is built with it.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/redistribution/plan_redistribution.h"

namespace shardwright::cli {

// Does nothing if the command is built without HTML reports.
void add_report_argument(CLI::App& command, std::string& path);

// Each writes a page if `path` is not empty. Errors: those of writing a file.
Status write_report(const std::string& path, const embedding::Problem& problem,
                    const EmbeddingPlanResult& result, double read_s);
Status write_report(const std::string& path, const RedistributionCase& request,
                    const RedistributionOptions& options,
                    std::span<const PlannedRedistribution> paths);
Status write_report(const std::string& path, const redistribution::TransferProblem& problem,
                    const TransferAnswer& answer);
Status write_report(const std::string& path, const operators::AtenGraph& graph,
                    const PlanAtenOptions& options, const AtenPlanResult& result);

}  // namespace shardwright::cli
