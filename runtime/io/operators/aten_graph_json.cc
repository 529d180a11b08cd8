#include "runtime/io/operators/aten_graph_json.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"
#include "runtime/io/operators/list_reading.h"

namespace shardwright {
namespace {

using namespace operators;

constexpr std::array<std::string_view, 4> kSources{"torch", "view", "own", "fallback"};
constexpr std::array<std::string_view, 5> kRoles{"operator", "parameter", "buffer", "input",
                                                 "tangent"};
constexpr std::array<std::string_view, 2> kPhases{"forward", "backward"};

Status read_index(JsonValue value, std::uint32_t& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t index, value.integer());
  if (index < 0 || index > std::numeric_limits<std::uint32_t>::max())
    return value.expected("an index");
  out = static_cast<std::uint32_t>(index);
  return {};
}

Status read_ref(JsonValue value, TensorRef& out) {
  if (!value.is_array() || value.size() != 2) return value.expected("[node, output]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_index(value[0], out.node));
  return read_index(value[1], out.output);
}

Status read_extent(JsonValue value, FlopTerm::Extent& out) {
  if (!value.is_array() || value.size() != 2) return value.expected("[tensor, dimension]");
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t tensor, value[0].integer());
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (tensor > kMost || tensor < -kMost) return value[0].expected("a tensor's index");
  out.of_output = tensor < 0;
  out.tensor = static_cast<std::uint32_t>(tensor < 0 ? -1 - tensor : tensor);
  return read_index(value[1], out.dim);
}

// Reads [factor, extent, ...].
Status read_flop_term(JsonValue value, FlopTerm& out) {
  if (!value.is_array() || value.size() == 0) return value.expected("[factor, extents...]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], out.factor));
  out.extents.resize(value.size() - 1);
  for (std::size_t i = 1; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_extent(value[i], out.extents[i - 1]));
  return {};
}

Status read_format(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view format, value.string());
  if (format == kAtenGraphFormat) return {};
  return value.expected("\"" + std::string(kAtenGraphFormat) + "\"");
}

JsonShape refs_shape() {
  return json::list(json::tuple({json::natural(), json::natural()}).says("[node, output]"));
}

JsonShape flops_shape() {
  return json::list(json::tuple({json::integer(), json::tuple({json::integer(), json::natural()})})
                        .open()
                        .says("[factor, [tensor, dimension], …]; tensor -1 is the first output."));
}

JsonShape words_shape() { return json::list(axis_word_shape()); }

}  // namespace

namespace operators {

static void describe(JsonMembers& members, AxisEntry& entry) {
  members.required_with("outputs", list_into(entry.outputs, read_axis_word), words_shape)
      .required_with("inputs", list_into(entry.inputs, read_axis_word), words_shape)
      .optional("divides", entry.divides,
                "What the number of devices along all axes with this strategy must divide.")
      .from(1)
      .optional("by_part", entry.by_part,
                "For data axes only: every device runs the operator on its part of the batch.");
}

static Status read_entry(JsonValue value, AxisEntry& out) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, out));
  if (value.find("divides") && out.divides < 1) return value.error("\"divides\" must be positive");
  return {};
}

static void describe(JsonMembers& members, AxisRule& rule) {
  members.required_with("strategies", list_into(rule.entries, read_entry), list_of<AxisEntry>)
      .word("source", rule.source, "source", kSources)
      .ignore({"note"});
}

static void describe(JsonMembers& members, AtenTensor& tensor) {
  members
      .required_with(
          "shape", [&](JsonValue v) { return read_shape(v, tensor.shape); }, extents_shape)
      .required_with(
          "stride", [&](JsonValue v) { return read_shape(v, tensor.stride); }, extents_shape)
      .required("dtype", tensor.type);
}

static void describe(JsonMembers& members, AtenNode& node) {
  members.required("name", node.name)
      .required("op", node.op)
      .word("role", node.role, "role", kRoles)
      .optional("target", node.target, "Name of the parameter, buffer or input in the model.")
      .required_with(
          "rule", [&](JsonValue v) { return read_index(v, node.rule); }, json::natural)
      .optional_with("inputs", list_into(node.inputs, read_ref), refs_shape)
      .required_with("outputs", list_into(node.outputs), list_of<std::optional<AtenTensor>>)
      .optional_with("flops", list_into(node.flops, read_flop_term), flops_shape)
      .optional("view", node.view, "Whether the outputs share the storage of the first input.")
      .word("phase", node.backward, "phase", kPhases)
      .optional("module", node.module)
      .optional("line", node.line, "Line of the model's source.")
      .ignore({"note"});
}

static void describe(JsonMembers& members, AtenOutput& output) {
  members
      .required_with(
          "node", [&](JsonValue v) { return read_index(v, output.value.node); }, json::natural)
      .required_with(
          "output", [&](JsonValue v) { return read_index(v, output.value.output); }, json::natural)
      .word("role", output.role, "role", kOutputRoles, "", true)
      .required("target", output.target);
}

static void describe(JsonMembers& members, AtenGraphSpec& spec, std::int64_t& version) {
  members.required_with("format", read_format, [] { return json::one_word({kAtenGraphFormat}); })
      .required("version", version)
      .from(1)
      .up_to(1)
      .optional("model", spec.model)
      .optional("torch", spec.torch, "Release of PyTorch.")
      .required_with("rules", list_into(spec.rules), list_of<AxisRule>)
      .required_with("nodes", list_into(spec.nodes), list_of<AtenNode>)
      .required_with("outputs", list_into(spec.outputs), list_of<AtenOutput>)
      .ignore({"note"});
}

}  // namespace operators

bool is_aten_graph(std::string_view text) {
  // Searches all the text: only the tracer's own files have `format` first.
  return text.find('"' + std::string(kAtenGraphFormat) + '"') != std::string_view::npos;
}

Result<AtenGraph> read_aten_graph(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kTracedModel));
  AtenGraphSpec spec;
  std::int64_t version = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(document.root(), [&](JsonMembers& members) { describe(members, spec, version); }));
  if (version != 1) return invalid_input("/version", "this release reads version 1");
  return AtenGraph::make(std::move(spec));
}

JsonShape aten_graph_shape() {
  return shape_by([](JsonMembers& members) {
           AtenGraphSpec sample;
           std::int64_t version = 0;
           describe(members, sample, version);
         })
      .says(
          "A PyTorch model as shardwright.torch.trace writes it. `operators plan`, `sweep` and "
          "`build` read it.");
}

namespace {

using operators::CostInstance;
using operators::kForbidden;

constexpr double kPerMicrosecond = 1e9;
constexpr std::int64_t kForbiddenCost = 1'000'000'000'000'000'000;

void write_costs(JsonWriter& json, std::span<const double> costs) {
  json.begin_array();
  for (const double cost : costs) {
    json.value(cost < kForbidden ? static_cast<std::int64_t>(std::llround(cost * kPerMicrosecond))
                                 : kForbiddenCost);
  }
  json.end_array();
}

void write_nodes(JsonWriter& json, const CostInstance& instance) {
  json.key("nodes").begin_object().key("intervals").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n)
    json.begin_array().value(0).value(0).end_array();
  json.end_array().new_line().key("costs").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    json.new_line();
    write_costs(json, instance.costs(n));
  }
  json.end_array().new_line().key("usages").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    json.begin_array();
    for (std::size_t s = 0; s < instance.num_strategies(n); ++s)
      json.value(0);
    json.end_array();
  }
  json.end_array().end_object();
}

}  // namespace

void write_aten_instance(const operators::AtenGraph& graph, const CostInstance& instance,
                         const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().key("problem").begin_object().member("name", graph.model()).new_line();
  write_nodes(json, instance);
  json.new_line().key("edges").begin_object().key("nodes").begin_array();
  for (const CostInstance::Edge& edge : instance.edges())
    json.begin_array().value(edge.first).value(edge.second).end_array();
  json.end_array().new_line().key("costs").begin_array();
  for (const CostInstance::Edge& edge : instance.edges()) {
    json.new_line();
    write_costs(json, instance.matrix(edge));
  }
  json.end_array().end_object().end_object().end_object().finish();
}

}  // namespace shardwright
