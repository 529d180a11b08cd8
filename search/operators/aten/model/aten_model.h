// A graph of PyTorch's operators on a mesh as variables with costs: what every way to solve it
// reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/aten/plan/aten_plan.h"
#include "core/operators/aten/plan/transition_costs.h"
#include "search/executor.h"
#include "search/operators/aten/model/aten_transfers.h"
#include "search/operators/aten/model/aten_usages.h"
#include "search/operators/aten/model/aten_variables.h"

namespace shardwright::operators {

// What repeated blocks of a model may do.
enum class BlockSharing : std::uint8_t {
  kFree,   // every block has strategies of its own
  kEqual,  // the blocks of a list of modules run alike
};

// A placement that the user demands.
struct AtenConstraint {
  enum class Of : std::uint8_t { kParameter, kBuffer, kInput, kTangent, kOutput };
  Of of = Of::kInput;
  std::string target;
  redistribution::Placement placement;
};

struct AtenRequest {
  redistribution::MeshShape mesh;
  ComputeDevice device;
  std::optional<std::int64_t> memory_limit;  // bytes of a device
  std::int64_t optimizer_states = 2;         // tensors like a parameter, beside it
  CollectiveBackend backend = CollectiveBackend::kNccl;
  OverlapShares overlap;
  BlockSharing blocks = BlockSharing::kFree;
  std::vector<AtenConstraint> constraints;
};

// Variables that must choose alike have one leader, whose choice counts.
// Thread safety: a value.
struct AtenModel {
  Overlap overlap;
  AtenVariables variables;
  std::vector<std::vector<double>> costs;  // by variable and choice; kForbidden if not allowed
  AtenTransfers transfers;
  AtenUsages usages;                   // none without a memory limit
  std::vector<std::uint32_t> leaders;  // by variable, mostly itself
};

// Errors: those of AtenVariables::make; at `/placements/<kind>/<target>`, such as
// `/placements/inputs/x`, a target that does not exist or a placement that it cannot have. `graph`
// must outlive the result. Tensors that move for a consumer count in its memory if they are among
// `moved`, ascending.
Result<AtenModel> build_model(const AtenGraph& graph, const AtenRequest& request,
                              TransitionCosts& transitions, Executor& executor,
                              std::span<const TakenTensor> moved = {});

// Adds those of the movers to a choice by node and output of the graph, where it has none yet.
void choose_movers(const AtenVariables& variables, TransitionCosts& transitions,
                   std::vector<std::uint32_t>& choice);

// The plan of a choice by variable. The times are those of the graph and of `transitions`.
AtenPlan plan_of(const AtenModel& model, const std::vector<std::uint32_t>& choice,
                 TransitionCosts& transitions);

}  // namespace shardwright::operators
