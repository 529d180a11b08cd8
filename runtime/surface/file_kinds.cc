#include "runtime/surface/file_kinds.h"

#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/io/operators/solve_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/surface/file_texts.h"

namespace shardwright::commands {
namespace {

constexpr FileKind kKinds[] = {
    {"problem", "Problem", problem_shape, kProblemSample},
    {"topology", "Machine", topology_shape},
    {"search-space", "Search space", nullptr},
    {"plan", "Plan", nullptr},
    {"explanation", "Explanation", nullptr},
    {"sweep", "Sweep", nullptr},
    {"diff", "Comparison", nullptr},
    {"verification", "Verification", nullptr},
    {"graph", "Operator graph", op_graph_shape, kGraphSample},
    {"strategies", "Single operators", strategy_records_shape},
    {"instance", "Cost instance", cost_instance_shape},
    {"solution", "Solution", solution_shape},
    {"traced", "Traced model", aten_graph_shape},
    {"options", "Options of a model plan", aten_options_shape, kOptionsSample},
    {"model-plan", "Plan of a model", aten_plan_shape},
    {"mesh-sweep", "Sweep over meshes", mesh_sweep_shape},
    {"paths", "Resharding paths", reshard_questions_shape, kPathsSample},
    {"autoshard", "Graph for autoshard", autoshard_shape},
    {"strategies-answer", "Strategies", strategies_shape},
    {"paths-answer", "Paths", reshard_answers_shape},
    {"autoshard-answer", "Answer of autoshard", autoshard_answers_shape},
    {"program", "Program", nullptr, kProgramSample},
    {"reshard", "Resharding cases", nullptr, kReshardSample},
    {"redistribution", "Redistribution", nullptr, kRedistributionSample},
    {"transfer", "Transfer", nullptr, kTransferSample},
    {"program-answer", "Programs", nullptr},
    {"reshard-answer", "Reshardings", nullptr},
    {"redistribution-answer", "Paths of a redistribution", nullptr},
    {"transfer-plan", "Transfer plan", nullptr},
};

}  // namespace

std::string FileKind::schema() const {
  return shape == nullptr ? std::string(schema_text(name)) : json_schema(shape(), title);
}

std::span<const FileKind> file_kinds() { return kKinds; }

}  // namespace shardwright::commands
