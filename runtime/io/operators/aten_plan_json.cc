#include "runtime/io/operators/aten_plan_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "core/operators/aten/tensor_uses.h"
#include "runtime/io/operators/aten_options_json.h"

namespace shardwright {

static void describe(JsonMembers& members, MovingTimes& times) {
  members.required("all_gather_us", times.all_gather_us)
      .required("all_to_all_us", times.all_to_all_us)
      .required("all_reduce_us", times.all_reduce_us)
      .required("reduce_scatter_us", times.reduce_scatter_us)
      .required("slice_us", times.slice_us, "Copies; nothing is sent.");
}

}  // namespace shardwright

namespace shardwright::operators {

static void describe(JsonMembers& members, AtenMemory& memory) {
  members.required("parameters", memory.parameters)
      .required("optimizer_states", memory.optimizer_states)
      .required("gradients", memory.gradients)
      .required("inputs", memory.inputs)
      .required("activations", memory.activations)
      .required("moved", memory.moved);
}

}  // namespace shardwright::operators

namespace shardwright {
namespace {

using namespace operators;

constexpr std::string_view kAtenPlanFormat = "shardwright.aten_plan";

using Words = std::vector<std::string>;  // one per mesh axis

struct NodeOfPlan {
  std::string name;
  std::vector<Words> outputs;
  // Absent for placeholders; hidden_us is also absent if nothing overlaps.
  std::optional<std::vector<Words>> inputs;
  std::optional<double> compute_us;
  std::optional<std::vector<double>> redistribute_us, hidden_us;
};

struct OutputOfPlan {
  AtenOutputRole role = AtenOutputRole::kOutput;
  std::string target;
  Words placement;
  double redistribute_us = 0;
  std::optional<double> hidden_us;
};

struct ParameterOfPlan {
  std::string name;
  Words placement;
  std::string gathered;  // "never", "forward" or "both"
};

// A tensor that enters or leaves a module in the forward pass.
struct BorderTensor {
  std::string node;
  std::uint32_t output = 0;
  Words made, taken;  // placements at the producer and at the consumer

  friend auto operator<=>(const BorderTensor&, const BorderTensor&) = default;
};

struct ModuleOfPlan {
  std::string path;
  std::vector<BorderTensor> inputs, outputs;
};

struct ModelPlan {
  int version = 1;
  MeshOutcome outcome;
  std::optional<std::int64_t> memory_limit;
  std::optional<std::vector<NodeOfPlan>> nodes;
  std::optional<std::vector<OutputOfPlan>> outputs;
  std::optional<std::vector<ParameterOfPlan>> parameters;
  std::optional<std::vector<ModuleOfPlan>> modules;
};

void describe_mesh(JsonMembers& members, redistribution::MeshShape& shape) {
  members.object(
      "mesh", [&](JsonMembers& mesh) { mesh.required("shape", shape, "Devices along each axis."); },
      {}, true);
}

void describe_figures(JsonMembers& members, MeshOutcome& outcome) {
  members.optional("roles", outcome.roles, "Of each axis; absent if all are free.")
      .optional("baseline", outcome.baseline, "Its name.")
      .required("status", outcome.status)
      .optional("objective_us", outcome.objective_us, "Time of a step.")
      .optional("lower_bound_us", outcome.lower_bound_us, "No plan with these roles is faster.")
      .optional("gap", outcome.gap, "Fraction of the time between the bound and the plan.")
      .optional("free_bound_us", outcome.free_bound_us,
                "No plan is faster, whatever the roles of the axes.")
      .optional("loss", outcome.loss, "How much slower the plan is than that: 0.05 is 5 %.")
      .optional("compute_us", outcome.compute_us)
      .optional("redistribute_us", outcome.redistribute_us)
      .optional("hidden_us", outcome.hidden_us, "Part of redistribute_us that operators hide.")
      .optional("communication", outcome.communication, "Parts of redistribute_us.")
      .optional("memory", outcome.memory, "Bytes of a device at the peak.")
      .optional("peak_bytes", outcome.peak_bytes, "Bytes of a device.")
      .optional("most_moved_bytes", outcome.most_moved_bytes);
}

void describe_shortage(JsonMembers& members, MeshOutcome& outcome) {
  members.optional("reason", outcome.reason, "Why there is no plan.")
      .optional("limit_bytes", outcome.limit_bytes, "What a device has.")
      .optional("least_bytes", outcome.least_bytes, "Every plan needs at least this much.")
      .optional("enough_bytes", outcome.enough_bytes, "Some plan needs no more.");
}

void describe(JsonMembers& members, NodeOfPlan& node) {
  members.required("name", node.name)
      .required("outputs", node.outputs, "Placements of each output.")
      .optional("inputs", node.inputs, "Placements that the operator takes.")
      .optional("compute_us", node.compute_us)
      .optional("redistribute_us", node.redistribute_us, "Of each input.")
      .optional("hidden_us", node.hidden_us, "Of each input.");
}

void describe(JsonMembers& members, OutputOfPlan& output) {
  members.word("role", output.role, "role", kOutputRoles, "", true)
      .required("target", output.target)
      .required("placement", output.placement)
      .required("redistribute_us", output.redistribute_us)
      .optional("hidden_us", output.hidden_us);
}

void describe(JsonMembers& members, ParameterOfPlan& parameter) {
  members.required("name", parameter.name)
      .required("placement", parameter.placement)
      .required("gathered", parameter.gathered,
                "Whether it is gathered `never`, in `forward` and then kept, or in `both` passes.");
}

void describe(JsonMembers& members, BorderTensor& tensor) {
  members.required("node", tensor.node)
      .required("output", tensor.output)
      .required("made", tensor.made, "Placement at the producer.")
      .required("taken", tensor.taken, "Placement that the consumer takes.");
}

void describe(JsonMembers& members, ModuleOfPlan& module) {
  members.required("path", module.path)
      .required("inputs", module.inputs, "Tensors from outside of the module, forward.")
      .required("outputs", module.outputs, "Tensors that go outside of it.");
}

void describe(JsonMembers& members, ModelPlan& plan) {
  members.constant("format", kAtenPlanFormat)
      .required("version", plan.version)
      .from(1)
      .up_to(1)
      .line();
  describe_mesh(members, plan.outcome.mesh);
  describe_figures(members.line(), plan.outcome);
  members.required("memory_limit", plan.memory_limit, "Bytes of a device.");
  describe_shortage(members, plan.outcome);
  if (plan.nodes) members.line();
  members.rows("nodes", plan.nodes, true);
  if (plan.outputs) members.line();
  members.rows("outputs", plan.outputs, true);
  if (plan.parameters) members.line();
  members.rows("parameters", plan.parameters, true);
  if (plan.modules) members.line();
  members.rows("modules", plan.modules, true);
}

Words words_of(const MaybePlacement& placement, std::size_t num_axes) {
  Words words;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    words.push_back(axis_word(placement ? MaybeAxisPlacement(placement->on(axis)) : std::nullopt));
  return words;
}

std::vector<Words> words_of(const std::vector<MaybePlacement>& placements, std::size_t num_axes) {
  std::vector<Words> words;
  words.reserve(placements.size());
  for (const MaybePlacement& placement : placements)
    words.push_back(words_of(placement, num_axes));
  return words;
}

NodeOfPlan node_of(const AtenNode& node, const AtenNodePlan& plan, std::size_t num_axes) {
  NodeOfPlan out;
  out.name = node.name;
  out.outputs = words_of(plan.outputs, num_axes);
  if (node.is_placeholder()) return out;
  out.inputs = words_of(plan.inputs, num_axes);
  out.compute_us = plan.compute_us;
  out.redistribute_us = plan.redistribute_us;
  if (!plan.hidden_us.empty()) out.hidden_us = plan.hidden_us;
  return out;
}

// By parameter, in the order of the graph: the passes in which it moves for use, itself or as a
// tensor that depends on it alone. A move in the forward pass whose result the backward uses, too,
// is kept.
std::vector<ParameterOfPlan> parameters_of(const AtenGraph& graph, const AtenPlan& plan) {
  const std::vector<char> of_parameters = depends_on_parameters(graph);
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> root(graph.size(), kNone);  // by node: the first parameter it is of
  std::vector<std::array<bool, 2>> moves(graph.size());  // by parameter: forward, backward
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (graph[n].role == AtenRole::kParameter) root[n] = n;
    for (std::size_t i = 0; i < graph[n].inputs.size(); ++i) {
      const TensorRef& ref = graph[n].inputs[i];
      if (of_parameters[ref.node] == 0) continue;
      if (of_parameters[n] != 0 && root[n] == kNone) root[n] = root[ref.node];
      if (is_moved(plan, ref, plan.nodes[n].inputs[i]))
        moves[root[ref.node]][graph[n].backward ? 1 : 0] = true;
    }
  }
  std::vector<ParameterOfPlan> parameters;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (graph[n].role != AtenRole::kParameter) continue;
    parameters.push_back({graph[n].target, words_of(plan.nodes[n].outputs[0], plan.mesh.size()),
                          moves[n][1]   ? "both"
                          : moves[n][0] ? "forward"
                                        : "never"});
  }
  return parameters;
}

bool is_inside(std::string_view path, std::string_view module) {
  return path.starts_with(module) && (path.size() == module.size() || path[module.size()] == '.');
}

// Lists the modules of forward operators, with the tensors that cross their borders.
std::vector<ModuleOfPlan> modules_of_plan(const AtenGraph& graph, const AtenPlan& plan) {
  struct Border {
    std::set<BorderTensor> inputs, outputs;
  };
  std::map<std::string, Border> modules;
  const auto enclosing = [](std::string_view path, const auto& visit) {
    for (std::size_t end = path.size(); end > 0; end = path.rfind('.', end - 1)) {
      visit(path.substr(0, end));
      if (path.find('.') >= end) break;
    }
  };
  const auto cross = [&](const TensorRef& ref, std::string_view to, const MaybePlacement& taken) {
    const AtenNode& producer = graph[ref.node];
    if (producer.role == AtenRole::kParameter || producer.role == AtenRole::kBuffer) return;
    const BorderTensor tensor{producer.name, ref.output,
                              words_of(plan.nodes[ref.node].outputs[ref.output], plan.mesh.size()),
                              words_of(taken, plan.mesh.size())};
    enclosing(to, [&](std::string_view module) {
      if (!is_inside(producer.module, module)) modules[std::string(module)].inputs.insert(tensor);
    });
    enclosing(producer.module, [&](std::string_view module) {
      if (!is_inside(to, module)) modules[std::string(module)].outputs.insert(tensor);
    });
  };
  const std::vector<char> of_parameters = depends_on_parameters(graph);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].backward) continue;
    for (std::size_t i = 0; i < graph[n].inputs.size(); ++i) {
      if (of_parameters[graph[n].inputs[i].node] == 0)
        cross(graph[n].inputs[i], graph[n].module, plan.nodes[n].inputs[i]);
    }
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
    if (graph.outputs()[o].role == AtenOutputRole::kOutput)
      cross(graph.outputs()[o].value, "", plan.outputs[o].placement);
  }
  std::vector<ModuleOfPlan> list;
  list.reserve(modules.size());
  for (const auto& [path, border] : modules) {
    list.push_back({path,
                    {border.inputs.begin(), border.inputs.end()},
                    {border.outputs.begin(), border.outputs.end()}});
  }
  return list;
}

void add_plan(const AtenGraph& graph, const AtenPlan& plan, ModelPlan& out) {
  out.parameters = parameters_of(graph, plan);
  out.modules = modules_of_plan(graph, plan);
  const std::size_t num_axes = plan.mesh.size();
  out.nodes.emplace();
  for (std::size_t n = 0; n < graph.size(); ++n)
    out.nodes->push_back(node_of(graph[n], plan.nodes[n], num_axes));
  out.outputs.emplace();
  for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
    const AtenOutput& output = graph.outputs()[o];
    const AtenOutputPlan& planned = plan.outputs[o];
    out.outputs->push_back({output.role, output.target, words_of(planned.placement, num_axes),
                            planned.redistribute_us, std::nullopt});
    if (plan.overlap.any()) out.outputs->back().hidden_us = planned.hidden_us;
  }
}

MovingTimes moving_times(const AtenPlanResult& result) {
  using Kind = redistribution::Move::Kind;
  const auto us = [&](Kind kind) { return result.moving_us[static_cast<std::size_t>(kind)]; };
  return {us(Kind::kAllGather), us(Kind::kAllToAll), us(Kind::kAllReduce), us(Kind::kReduceScatter),
          us(Kind::kSplit)};
}

MeshOutcome outcome_of(const redistribution::MeshShape& mesh, const AtenPlanResult& result) {
  MeshOutcome outcome;
  outcome.mesh = mesh;
  if (!result.roles.empty()) outcome.roles = result.roles;
  outcome.status = result.status;
  outcome.free_bound_us = result.free_bound_us;
  if (result.plan) {
    const double us = result.evaluation.total_us();
    outcome.objective_us = us;
    outcome.lower_bound_us = result.lower_bound_us;
    outcome.gap = us > 0 ? std::max(0.0, (us - result.lower_bound_us) / us) : 0;
    if (result.free_bound_us.value_or(0) > 0)
      outcome.loss = std::max(0.0, us / *result.free_bound_us - 1);
    outcome.communication = moving_times(result);
    outcome.memory = result.at_peak;
    outcome.compute_us = result.evaluation.compute_us;
    outcome.redistribute_us = result.evaluation.redistribute_us;
    if (result.plan->overlap.any()) outcome.hidden_us = result.evaluation.hidden_us;
    outcome.peak_bytes = result.evaluation.peak_bytes;
    outcome.most_moved_bytes = result.evaluation.most_moved_bytes;
  }
  if (result.shortage) {
    outcome.reason = shortage_text(*result.shortage);
    outcome.limit_bytes = result.shortage->limit_bytes;
    outcome.least_bytes = result.shortage->minimum_bytes;
    outcome.enough_bytes = result.shortage->enough_bytes;
  }
  return outcome;
}

}  // namespace

static void describe(JsonMembers& members, MeshOutcome& row) {
  describe_mesh(members, row.mesh);
  describe_figures(members, row);
  describe_shortage(members, row);
}

void describe(JsonMembers& members, MeshSweep& sweep) {
  members.required("devices", sweep.devices).rows("meshes", sweep.meshes, true);
}

MeshSweep mesh_sweep(const AtenSweep& sweep) {
  MeshSweep out;
  out.devices = sweep.devices;
  for (const AtenSweep::Row& row : sweep.rows) {
    out.meshes.push_back(outcome_of(row.mesh, row.result));
    if (!row.baseline.empty()) out.meshes.back().baseline = row.baseline;
  }
  return out;
}

JsonShape mesh_sweep_shape() {
  return shape_of(MeshSweep()).says("What `operators sweep` answers. Times are microseconds.");
}

void write_aten_plan(const AtenGraph& graph, const PlanAtenOptions& options,
                     const AtenPlanResult& result, const TextSink& sink) {
  ModelPlan plan;
  plan.outcome = outcome_of(options.mesh, result);
  plan.memory_limit = options.memory_limit;
  if (result.plan) add_plan(graph, *result.plan, plan);
  write_json(plan, sink);
}

JsonShape aten_plan_shape() {
  return shape_of(ModelPlan())
      .says(
          "What `operators plan` answers and shardwright.torch.parallelize reads. Times are "
          "microseconds.");
}

}  // namespace shardwright
