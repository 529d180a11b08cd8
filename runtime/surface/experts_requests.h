// Requests and answers of the commands for experts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/status.h"
#include "runtime/io/experts/experts_json.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

// Loads, and what takes the place of the file's machine.
struct ExpertLoads {
  Input loads;
  Input old;         // placement in use, in place of the file's
  Input link_costs;  // in place of the file's
  std::optional<std::uint64_t> gpus, nodes, slots, groups;
  std::optional<experts::Over> over;  // absent = the plan's, or the mean
  std::optional<double> time_limit_s;
  int threads = 0;
};

// shardwright experts plan
struct ExpertsPlanRequest {
  ExpertLoads input;
  std::optional<double> migration_weight;
  std::optional<std::uint64_t> max_moves;
  bool compat = false;
  EngineForm form = EngineForm::kShardwright;
  std::uint64_t effort = 1;  // factor of the work of best mode
};

// shardwright experts verify
struct ExpertsVerifyRequest {
  ExpertLoads input;
  Input plan;
};

// shardwright experts explain
struct ExpertsExplainRequest {
  ExpertLoads input;
  std::optional<std::uint64_t> layer;  // absent = all
};

// shardwright experts sweep
struct ExpertsSweepRequest {
  ExpertLoads input;
  std::vector<std::int64_t> gpus;
  std::vector<std::int64_t> slots;
  std::optional<std::int64_t> slot_bytes;  // memory of a slot, in all layers together
};

void describe(ExpertsPlanRequest& request, Fields& fields);
void describe(ExpertsVerifyRequest& request, Fields& fields);
void describe(ExpertsExplainRequest& request, Fields& fields);
void describe(ExpertsSweepRequest& request, Fields& fields);

// Errors: those of reading and of the entry points in runtime/experts.
Result<Answer> answer(const ExpertsPlanRequest& request, const Watch& watch);
Result<Answer> answer(const ExpertsVerifyRequest& request, const Watch& watch);
Result<Answer> answer(const ExpertsExplainRequest& request, const Watch& watch);
Result<Answer> answer(const ExpertsSweepRequest& request, const Watch& watch);

// The shapes of the answers of `experts sweep` and `experts explain`.
JsonShape expert_sweep_shape();
JsonShape expert_explanation_shape();

}  // namespace shardwright::commands
