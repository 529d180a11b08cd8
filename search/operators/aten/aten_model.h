// A graph of PyTorch's operators on a mesh as variables with costs: what every way to solve it
// reads.
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

// A tensor on its way between variables of two classes. Choices that agree about where it lies
// (and, where they hide moving, about the time that they take) share a row or column. Thread
// safety: a value.
struct AtenTransfer {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::vector<double> costs;             // row-major; kForbidden where it cannot be
  std::vector<std::uint32_t> row_of;     // by choice of the producer
  std::vector<std::uint32_t> column_of;  // by choice of the consumer

  double cost(std::uint32_t from, std::uint32_t to) const {
    return costs[std::size_t{row_of[from]} * columns + column_of[to]];
  }
};

struct AtenTransfers {
  struct Edge {
    std::uint32_t first = 0;  // variables
    std::uint32_t second = 0;
    std::uint32_t transfer = 0;
  };
  std::vector<AtenTransfer> transfers;
  // By consumer, then by input; then the outputs of the graph; then one per AtenPair, which forbids
  // different placements. A mover's own edge comes before the one to its consumer.
  std::vector<Edge> edges;
};

// A transfer is made once for all edges between the same classes. Tensors without a placement have
// no edge. A tensor with a mover has two: to the mover, where it moves, and on to the consumer,
// where different placements are forbidden. What an operator hides of moving a tensor is taken off
// the costs of the edge that knows the operator's choice; choices that take different times then
// have rows or columns of their own. The result does not depend on `executor`.
AtenTransfers make_transfers(const AtenVariables& variables, const Overlap& overlap,
                             TransitionCosts& costs, Executor& executor);

// Variables with the same bytes share them.
struct AtenUsages {
  struct Usage {
    std::uint32_t variable = 0;
    LiveInterval live;
    std::uint32_t bytes = 0;  // index
  };
  std::vector<Usage> usages;
  std::vector<std::vector<std::int64_t>> bytes;  // by choice
  std::uint32_t num_time_points = 0;             // that can decide a limit
};

// What held_tensors() lists, without the tensors that move for a consumer and have no mover.
AtenUsages make_usages(const AtenVariables& variables, std::int64_t optimizer_states);

// Every choice holds at least this much at some time point: the largest sum over all tensors of the
// least that a choice holds. Some choices hold more than that by need.
std::int64_t least_peak(const AtenUsages& usages);
// The time point of that.
std::size_t fullest_time(const AtenUsages& usages);

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

// By variable: the choices that it may take, ascending.
using KeptChoices = std::vector<std::vector<std::uint32_t>>;

// All choices that are not forbidden.
KeptChoices all_choices(const AtenModel& model);

// Adds the choices of `more`, which has as many variables.
void add_choices(const KeptChoices& more, KeptChoices& kept);

// Adds the choices of movers by which kept choices of a producer and a consumer can meet.
void keep_movers(const AtenModel& model, KeptChoices& kept);

// What a choice by variable costs; kForbidden if it is not allowed.
double cost_of(const AtenModel& model, const std::vector<std::uint32_t>& choice);

// The entries of all matrices of lower(), if none were shared.
double num_entries(const AtenModel& model, const KeptChoices& kept);

// The choice by variable of a solution of lower().
std::vector<std::uint32_t> chosen(const KeptChoices& kept,
                                  const std::vector<std::uint32_t>& solution);

// The problem of the kept choices; strategy i of an operator is its i-th kept choice. Variables of
// one class that keep the same share their matrices. `limit` is in bytes. Errors: those of
// CostInstance::make and LoweredInstance::make.
// Preconditions: every variable keeps something, and the same as its leader.
Result<OperatorProblem> lower(const AtenModel& model, const KeptChoices& kept,
                              std::optional<std::int64_t> limit);

}  // namespace shardwright::operators
