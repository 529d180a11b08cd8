// Expert files: loads, machine and old placement; and plans of experts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/experts/expert_plan.h"
#include "core/experts/expert_problem.h"
#include "core/status.h"
#include "runtime/experts/experts.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// What a file says of the machine, or the flags in its place.
struct ExpertsMachine {
  std::optional<std::uint64_t> num_gpus, num_nodes, num_slots, num_groups;
  std::vector<double> gpu_speeds;
  std::vector<double> link_costs;  // rows of a square matrix
  std::vector<double> origins;
};

// Placements of layers that all have as many slots.
struct PlacementRows {
  experts::Placement slots;  // empty if there are none
  std::size_t num_layers = 0;
};

// An expert file. The spec has the loads only.
struct ExpertsDocument {
  experts::ExpertSpec spec;
  ExpertsMachine machine;
  PlacementRows old;
};

// Reads {"format", "loads", "num_gpus", ...}; a list of loads by layer and expert, or the same as
// {"shape", "float64"} in base64; what SGLang's recorder writes: counts under "logical_count",
// whose windows of zeros were not recorded, or CSV that begins with "layer_id,expert_id,count"; or
// CSV with a line per layer and commas, semicolons, tabs or blanks between numbers. Errors:
// kInvalidInput with the place.
Result<ExpertsDocument> read_experts(std::string_view text);

// Reads a placement: a list of lists, or an object that has it under "physical_to_logical" or
// "physical_to_logical_map". Errors: kInvalidInput with the place.
Result<PlacementRows> read_placement(std::string_view text);

// Reads a square matrix: a list of lists, or CSV. Errors: kInvalidInput with the place.
Result<std::vector<double>> read_link_costs(std::string_view text);

// A plan of a file, with the terms under which it was made.
struct ExpertPlanDocument {
  experts::ExpertPlan plan;
  std::size_t num_layers = 0;  // of the placement
  ExpertsMachine machine;
  experts::Over over = experts::Over::kMean;
  double migration_weight = 0;
  std::optional<double> link_cost;  // that of `plan`, if there are link costs
};
Result<ExpertPlanDocument> read_expert_plan(std::string_view text);

// Writes why a search ended early, if it did.
void describe_stop(JsonMembers& members, StopReason stop);

void write_expert_plan(const experts::ExpertProblem& problem, const ExpertsAnswer& answer,
                       const TextSink& sink);

// Compares what a file says beside its plan with `answer`: counts of replicas, loads of GPUs, times
// of other placements. The front of moves is not checked. Errors (kVerificationFailed): the first
// place that differs. Precondition: read_expert_plan() reads `text`.
Status check_comparison(const experts::ExpertProblem& problem, const ExpertsAnswer& answer,
                        std::string_view text);

// The forms in which engines read a placement. kPacked has it in base64, for programs.
enum class EngineForm : std::uint8_t { kShardwright, kSglang, kVllmAscend, kTensorrtLlm, kPacked };
inline constexpr std::array<std::string_view, 5> kEngineForms{
    "shardwright", "sglang", "vllm-ascend", "tensorrt-llm", "packed"};
// Writes the placement for an engine. Precondition: `form` is not kShardwright.
void write_engine_form(const experts::ExpertProblem& problem, const experts::Placement& placement,
                       EngineForm form, const TextSink& sink);

JsonShape experts_shape();
JsonShape expert_plan_shape();

}  // namespace shardwright
