// The planning problem of a graph of PyTorch's operators on a mesh: variables, costs, memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/operators/aten/aten_plan.h"
#include "core/operators/instance/cost_instance.h"
#include "search/executor.h"
#include "search/operators/aten/aten_variables.h"

namespace shardwright::operators {

// The cost table of moving a tensor between variables of two classes. Choices with the same
// placement of the tensor share a row (producer) or column (consumer). If an operator hides a part
// of the time of moving, choices of this operator share one only if their compute times are equal,
// too. Thread safety: a value.
struct AtenTransfer {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<double> costs;             // row-major; kForbidden if impossible
  std::vector<std::uint32_t> row_of;     // by choice of the producer: its row
  std::vector<std::uint32_t> column_of;  // by choice of the consumer: its column

  double cost(std::uint32_t from, std::uint32_t to) const {
    return costs[std::size_t{row_of[from]} * columns + column_of[to]];
  }
};

struct AtenTransfers {
  struct Edge {
    std::uint32_t first = 0;  // index of a variable
    std::uint32_t second = 0;
    std::uint32_t transfer = 0;
  };
  std::vector<AtenTransfer> transfers;
  // Sorted by consumer, then by input; then the outputs of the graph; then one edge per AtenPair,
  // which forbids different placements. A mover's edge from its producer comes before that to its
  // consumer.
  std::vector<Edge> edges;
};

// Makes one transfer for all edges between the same classes. Tensors without a placement have no
// edge. A tensor with a mover has two edges. On the edge to the mover, the tensor moves. The edge
// from the mover to the consumer forbids different placements. If an operator hides a part of the
// time of moving, this part is subtracted on the edge at this operator; its choices of different
// compute times then have different rows or columns. The result does not depend on `executor`.
AtenTransfers make_transfers(const AtenVariables& variables, const Overlap& overlap,
                             TransitionCosts& costs, Executor& executor);

// The bytes held by variables over time. Variables with equal bytes share a vector.
struct AtenUsages {
  struct Usage {
    std::uint32_t variable = 0;
    LiveInterval live;
    std::uint32_t bytes = 0;  // index into AtenUsages::bytes
  };
  std::vector<Usage> usages;
  std::vector<std::vector<std::int64_t>> bytes;  // by choice
  std::uint32_t num_time_points = 0;             // only time points at which a limit can bind
};

// Returns the usages of held_tensors(). Leaves out tensors in motion that have no mover.
AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states);

// Returns a lower bound of the peak of all choices: the maximum over time points of the sum of all
// usages' least bytes.
std::int64_t least_peak(const AtenUsages& usages);
// Returns the time point at which that sum is highest, or the sum of the bytes of a choice.
std::size_t fullest_time(const AtenUsages& usages);
std::size_t fullest_time(const AtenUsages& usages, const std::vector<std::uint32_t>& choice);

// How repeated blocks of a model are sharded.
enum class BlockSharing : std::uint8_t {
  kFree,   // every block has its own strategies
  kEqual,  // the blocks of a list of modules have equal strategies
};

// A placement that the user requires. `*` in the target stands for any text. The first constraint
// that fits a tensor counts.
struct AtenConstraint {
  enum class Of : std::uint8_t { kParameter, kBuffer, kInput, kTangent, kOutput };
  Of of = Of::kInput;
  std::string target;
  redistribution::Placement placement;
  std::uint8_t any_axes = 0;  // a bit per axis along which any placement will do
};

struct AtenRequest {
  redistribution::MeshShape mesh;
  ComputeDevice device;
  std::optional<std::int64_t> memory_limit;  // bytes of a device
  std::int64_t optimizer_states = 2;         // number per parameter, each of its size
  CollectiveBackend backend = CollectiveBackend::kNccl;
  OverlapShares overlap;
  BlockSharing blocks = BlockSharing::kFree;
  std::vector<AtenConstraint> constraints;
  AxisRoles roles;  // empty: all axes are free
};

// The variables of a plan with their costs and memory. Variables that must choose alike have the
// same leader and take its choice. Thread safety: a value.
struct AtenModel {
  Overlap overlap;
  AtenVariables variables;
  std::vector<std::vector<double>> costs;  // by variable and choice; kForbidden: not allowed
  AtenTransfers transfers;
  AtenUsages usages;                   // empty without a memory limit
  std::vector<std::uint32_t> leaders;  // by variable; mostly the variable itself
};

// Errors: those of AtenVariables::make; at `/placements/<kind>/<target>`, such as
// `/placements/inputs/x`, a target that does not exist or a placement that it cannot have. `graph`
// must outlive the result. `moved`, ascending: the tensors that get movers. The memory of other
// tensors in motion is not counted.
Result<AtenModel> build_model(const AtenGraph& graph, const AtenRequest& request,
                              TransitionCosts& transitions, Executor& executor,
                              std::span<const TakenTensor> moved = {});

// `choice` has a choice for each node and output of the graph. Appends the choices of the movers.
void choose_movers(const AtenVariables& variables, TransitionCosts& transitions,
                   std::vector<std::uint32_t>& choice);

// Returns the plan of a choice by variable. Its times are those of the graph and of `transitions`.
AtenPlan plan_of(const AtenModel& model, const std::vector<std::uint32_t>& choice,
                 TransitionCosts& transitions);

// By variable, ascending: the choices that remain in a problem.
using KeptChoices = std::vector<std::vector<std::uint32_t>>;

// Returns all choices that are not forbidden.
KeptChoices all_choices(const AtenModel& model);

// Adds the choices of `more` to `kept`. Precondition: equal numbers of variables.
void add_choices(const KeptChoices& more, KeptChoices& kept);

// Adds the choices of movers that connect kept choices of the mover's producer and consumer.
void keep_movers(const AtenModel& model, KeptChoices& kept);

// Returns the cost of a choice by variable; kForbidden if the choice is not allowed.
double cost_of(const AtenModel& model, const std::vector<std::uint32_t>& choice);

// Returns the number of entries of all matrices of lower(), as if no matrices were shared.
double num_entries(const AtenModel& model, const KeptChoices& kept);

// Returns the choice by variable of a solution of lower()'s problem.
std::vector<std::uint32_t> chosen(const KeptChoices& kept,
                                  const std::vector<std::uint32_t>& solution);

// Makes the problem of the kept choices. Strategy i of an operator is its i-th kept choice.
// Variables of one class with the same kept choices share matrices. `limit`: bytes on a device.
// Errors: those of CostInstance::make and LoweredInstance::make. Preconditions: every variable
// keeps at least one choice, and the same choices as its leader.
Result<OperatorProblem> lower(const AtenModel& model, const KeptChoices& kept,
                              std::optional<std::int64_t> limit);

}  // namespace shardwright::operators
