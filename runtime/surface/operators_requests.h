// Requests and answers of the commands for operator graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/solve.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"
#include "search/operators/strategies/reshard_path.h"

namespace shardwright::commands {

// shardwright operators build
struct BuildRequest {
  Input graph;
  std::string mesh;  // such as "2x4"
  int threads = 0;   // 0 = all cores
};

// shardwright operators solve
struct SolveRequest {
  Input instance;
  std::optional<std::int64_t> budget;  // bytes; absent = as in the file
  bool unmerged = false;
  OperatorsOptions options;
};

// shardwright operators strategies
struct StrategiesRequest {
  Input file;
};

// shardwright operators paths
struct PathsRequest {
  Input file;
  operators::PathCost cost = operators::PathCost::kCompat;
};

// shardwright operators autoshard. An absent member has the file's value.
struct AutoshardRequest {
  Input graph;
  std::optional<std::int64_t> devices;
  std::optional<operators::autoshard::CostModel> cost_model;
  bool iterations = false;  // the text lists the cost of each improvement
  int threads = 0;          // 0 = all cores
};

// Measured times, and values that replace values of the options file.
struct AtenOverrides {
  Input machine;                       // optional
  std::optional<std::string> mesh;     // such as "4x2"
  std::optional<std::int64_t> memory;  // bytes per device
  std::optional<std::int64_t> optimizer_states;
  std::optional<std::string> device;
  std::optional<operators::RedistributionChoice> redistribution;
  std::optional<double> overlap;  // share of collectives, for parameters and gradients
  std::optional<operators::BlockSharing> blocks;
  OperatorsOptions limits;  // only the members that were changed
};

// shardwright operators plan
struct AtenPlanRequest {
  Input graph;
  Input options;  // optional
  AtenOverrides overrides;
};

// shardwright operators sweep
struct AtenSweepRequest {
  Input graph;
  Input options;            // optional
  AtenOverrides overrides;  // `mesh` stays absent
  std::int64_t devices = 0;
  std::size_t most_axes = 3;
};

// Add the members of a request to `fields`.
void describe(BuildRequest& request, Fields& fields);
void describe(SolveRequest& request, Fields& fields);
void describe(StrategiesRequest& request, Fields& fields);
void describe(PathsRequest& request, Fields& fields);
void describe(AutoshardRequest& request, Fields& fields);
void describe(AtenPlanRequest& request, Fields& fields);
void describe(AtenSweepRequest& request, Fields& fields);

// Errors: those of reading and of the entry points in runtime/operators, with the name of the input
// that caused the error in the place; kInvalidInput at "mesh" if the mesh is absent or malformed.
Result<Answer> answer(const BuildRequest& request, const Watch& watch);
Result<Answer> answer(const SolveRequest& request, const Watch& watch);
Result<Answer> answer(const StrategiesRequest& request, const Watch& watch);
Result<Answer> answer(const PathsRequest& request, const Watch& watch);
Result<Answer> answer(const AutoshardRequest& request, const Watch& watch);
Result<Answer> answer(const AtenPlanRequest& request, const Watch& watch);
Result<Answer> answer(const AtenSweepRequest& request, const Watch& watch);

}  // namespace shardwright::commands
