#include "runtime/surface/file_kinds.h"

#include "runtime/io/embedding/answers_json.h"
#include "runtime/io/embedding/plan_reader.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "runtime/io/experts/experts_json.h"
#include "runtime/io/machine/machine_json.h"
#include "runtime/io/operators/aten_graph_json.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/io/operators/autoshard_json.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/paths_json.h"
#include "runtime/io/operators/solve_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/redistribution_json.h"
#include "runtime/io/program/transfer_json.h"
#include "runtime/surface/experts_requests.h"
#include "runtime/surface/file_texts.h"
#include "runtime/surface/machine_requests.h"

namespace shardwright::commands {
namespace {

constexpr FileKind kKinds[] = {
    {"problem", "Problem", problem_shape, kProblemSample},
    {"topology", "Machine", topology_shape},
    {"machine", "Measured machine", machine_file_shape},
    {"machine-summary", "Summary of a measured machine", machine_summary_shape},
    {"machine-diff", "Comparison of measured machines", machine_diff_shape},
    {"search-space", "Search space", search_space_shape},
    {"plan", "Plan", plan_shape},
    {"explanation", "Explanation", explanation_shape},
    {"sweep", "Sweep", sweep_shape},
    {"diff", "Comparison", diff_shape},
    {"audit", "Audit", audit_shape},
    {"verification", "Verification", verification_shape},
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
    {"program", "Program", program_shape, kProgramSample},
    {"reshard", "Resharding cases", reshard_shape, kReshardSample},
    {"redistribution", "Redistribution", redistribution_shape, kRedistributionSample},
    {"transfer", "Transfer", transfer_shape, kTransferSample},
    {"program-answer", "Programs", program_answer_shape},
    {"reshard-answer", "Reshardings", reshard_answer_shape},
    {"redistribution-answer", "Paths of a redistribution", redistribution_answer_shape},
    {"transfer-plan", "Transfer plan", transfer_plan_shape},
    {"experts", "Loads of experts", experts_shape, kExpertsSample},
    {"expert-plan", "Plan of experts", expert_plan_shape},
    {"expert-sweep", "Sweep of experts", expert_sweep_shape},
    {"expert-explanation", "Explanation of experts", expert_explanation_shape},
};

}  // namespace

std::string FileKind::schema() const { return json_schema(shape(), title); }

std::span<const FileKind> file_kinds() { return kKinds; }

}  // namespace shardwright::commands
