#include "runtime/surface/file_kinds.h"

#include "runtime/io/embedding/plan_reader.h"
#include "runtime/io/embedding/answers_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/embedding/search_space_json.h"
#include "runtime/io/embedding/verify_file.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/redistribution_json.h"
#include "runtime/io/program/transfer_json.h"
#include "runtime/surface/file_texts.h"

namespace shardwright::commands {
namespace {

constexpr FileKind kKinds[] = {
    {"problem", "Problem", problem_shape, kProblemSample},
    {"topology", "Machine", topology_shape},
    {"search-space", "Search space", search_space_shape},
    {"plan", "Plan", plan_shape},
    {"explanation", "Explanation", explanation_shape},
    {"sweep", "Sweep", sweep_shape},
    {"diff", "Comparison", diff_shape},
    {"verification", "Verification", verification_shape},
    {"graph", "Operator graph", nullptr, kGraphSample},
    {"strategies", "Single operators", nullptr},
    {"instance", "Cost instance", nullptr},
    {"solution", "Solution", nullptr},
    {"traced", "Traced model", nullptr},
    {"options", "Options of a model plan", nullptr, kOptionsSample},
    {"model-plan", "Plan of a model", nullptr},
    {"mesh-sweep", "Sweep over meshes", nullptr},
    {"paths", "Resharding paths", nullptr, kPathsSample},
    {"autoshard", "Graph for autoshard", nullptr},
    {"strategies-answer", "Strategies", nullptr},
    {"paths-answer", "Paths", nullptr},
    {"autoshard-answer", "Answer of autoshard", nullptr},
    {"program", "Program", program_shape, kProgramSample},
    {"reshard", "Resharding cases", reshard_shape, kReshardSample},
    {"redistribution", "Redistribution", redistribution_shape, kRedistributionSample},
    {"transfer", "Transfer", transfer_shape, kTransferSample},
    {"program-answer", "Programs", program_answer_shape},
    {"reshard-answer", "Reshardings", reshard_answer_shape},
    {"redistribution-answer", "Paths of a redistribution", redistribution_answer_shape},
    {"transfer-plan", "Transfer plan", transfer_plan_shape},
};

}  // namespace

std::string FileKind::schema() const {
  return shape == nullptr ? std::string(schema_text(name)) : json_schema(shape(), title);
}

std::span<const FileKind> file_kinds() { return kKinds; }

}  // namespace shardwright::commands
