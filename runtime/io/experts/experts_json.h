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
#include "runtime/io/json/json_shape.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// What a file says of the machine, or the flags in its place.
struct ExpertsMachine {
  std::optional<std::uint64_t> num_gpus, num_nodes, num_slots, num_groups;
  std::vector<double> gpu_speeds;
};

// An expert file. The spec has the loads only.
struct ExpertsDocument {
  experts::ExpertSpec spec;
  ExpertsMachine machine;
  experts::Placement old;  // empty if there is none
};

// Reads {"format", "loads", "num_gpus", ...}; a list of loads by layer and expert, or the same as
// {"shape", "float64"} in base64; the counts that
// SGLang's recorder writes, under "logical_count"; or CSV with a line per layer. Errors:
// kInvalidInput with the place.
Result<ExpertsDocument> read_experts(std::string_view text);

// Reads a placement: a list of lists, or an object that has it under "physical_to_logical" or
// "physical_to_logical_map". Errors: kInvalidInput with the place.
Result<experts::Placement> read_placement(std::string_view text);

// A plan of a file, with the terms under which it was made.
struct ExpertPlanDocument {
  experts::ExpertPlan plan;
  ExpertsMachine machine;
  experts::Over over = experts::Over::kMean;
  double migration_weight = 0;
};
Result<ExpertPlanDocument> read_expert_plan(std::string_view text);

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
