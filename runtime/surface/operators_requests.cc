#include <array>
#include <string_view>

#include "runtime/surface/embedding_requests.h"
#include "runtime/surface/operators_requests.h"

namespace shardwright::commands {
namespace {

constexpr std::array<std::string_view, 3> kPathCosts{"compat", "sum", "exact"};
constexpr std::array<std::string_view, 2> kRedistributions{"shortest", "autoparallel"};
constexpr std::array<std::string_view, 2> kBlocks{"free", "equal"};

void describe(OperatorsOptions& out, Fields& fields) {
  fields.seconds("time_limit", out.time_limit_s,
                 "Stop after this many seconds; the result then depends on the machine");
  fields.natural("work_limit", out.work_limit, "Stop after this many strategy evaluations");
  fields.natural("seed", out.seed, "Seed of everything random");
  describe_threads(out.threads, fields);
}

void describe_model(Input& graph, Input& options, Fields& fields) {
  fields.document("graph", graph, "GRAPH", "Graph of shardwright.torch.trace (- = stdin)").needed();
  fields.document("options", options, "",
                  "File with placements, the model of collectives and what flags say");
}

void describe(AtenOverrides& out, Fields& fields) {
  fields.document("machine", out.machine, "",
                  "File with measured times of operators, which replace estimates");
  fields.bytes("memory", out.memory, "Memory of a device, such as 80GiB");
  fields.count("optimizer_states", out.optimizer_states,
               "Tensors that the optimizer keeps for each parameter (default: 2)", 0, 100);
  fields.text("device", out.device, "NAME",
              "GPU whose times are estimated (default: that of {machine}, or H100)");
  fields.choice("redistribution", out.redistribution, "redistribution", kRedistributions,
                "Moves of tensors: the cheapest, or as AutoParallel estimates them");
  fields.choice("blocks", out.blocks, "rule for blocks", kBlocks,
                "Whether repeated blocks must be sharded alike");
  fields.value("overlap", out.overlap, "SHARE",
               "Share of moving parameters and gradients that operators hide (default: 0)",
               decimal_number("", true));
  describe(out.limits, fields);
}

}  // namespace

void describe(SolveRequest& request, Fields& fields) {
  fields
      .document("instance", request.instance, "INSTANCE",
                "Cost instance in ColossalAI's, XLA's or the contest's form (- = stdin)")
      .needed();
  fields.bytes("budget", request.budget,
               "Memory, in bytes or such as 16GiB (default: what the file says)", 0);
  fields.flag("unmerged", request.unmerged, "Solve the graph before its operators were merged");
  describe(request.options, fields);
}

void describe(AutoshardRequest& request, Fields& fields) {
  fields.document("graph", request.graph, "GRAPH", "A file with a `graph`, or - for input")
      .needed();
  fields.count("devices", request.devices, "Number of devices (default: the file's)");
  fields.choice("cost_model", request.cost_model, "cost model",
                operators::autoshard::kCostModelNames,
                "Generation of the cost model (default: the file's, else v2)");
  fields.flag("iterations", request.iterations, "Prints the cost table of every improvement");
  describe_threads(request.threads, fields);
}

void describe(PathsRequest& request, Fields& fields) {
  fields
      .document("file", request.file, "FILE",
                "List of meshes, tensor shapes and pairs of sharding specs (- = stdin)")
      .needed();
  fields.choice("cost", request.cost, "cost", kPathCosts,
                "compat = ColossalAI's paths and costs, sum = its paths, costs added up once, "
                "exact = the cheapest paths");
}

void describe(StrategiesRequest& request, Fields& fields) {
  fields
      .document("file", request.file, "FILE",
                "Operators with their mesh, operands and attributes (- = stdin)")
      .needed();
}

void describe(BuildRequest& request, Fields& fields) {
  fields
      .document("graph", request.graph, "GRAPH",
                "Operator graph, or a traced PyTorch model (- = stdin)")
      .needed();
  fields.mesh("mesh", request.mesh, "Devices along each axis, such as 2x4").needed();
  describe_threads(request.threads, fields);
}

void describe(AtenPlanRequest& request, Fields& fields) {
  fields.mesh("mesh", request.overrides.mesh, "Devices along each axis, such as 4x2");
  describe_model(request.graph, request.options, fields);
  describe(request.overrides, fields);
}

void describe(AtenSweepRequest& request, Fields& fields) {
  fields.count("devices", request.devices, "Devices of the mesh").needed();
  fields.count("axes", request.most_axes, "Most axes of a mesh (default: 3)", 1, 8);
  describe_model(request.graph, request.options, fields);
  describe(request.overrides, fields);
}

}  // namespace shardwright::commands
