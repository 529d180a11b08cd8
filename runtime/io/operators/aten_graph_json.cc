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

Status read_entry(JsonValue value, AxisEntry& out) {
  const auto words = [](std::vector<MaybeAxisPlacement>& placements) {
    return [&placements](JsonValue v) { return read_list(v, placements, read_axis_word); };
  };
  SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(value)
                                  .required_with("outputs", words(out.outputs))
                                  .required_with("inputs", words(out.inputs))
                                  .optional("divides", out.divides)
                                  .finish());
  if (value.find("divides") && out.divides < 1) return value.error("\"divides\" must be positive");
  return {};
}

Status read_rule(JsonValue value, AxisRule& out) {
  return JsonMembers(value)
      .required_with("strategies",
                     [&](JsonValue v) { return read_list(v, out.entries, read_entry); })
      .optional_with("source", read_word("source", kSources, out.source))
      .ignore({"note"})
      .finish();
}

Status read_tensor(JsonValue value, std::optional<AtenTensor>& out) {
  if (value.is_null()) return {};
  AtenTensor& tensor = out.emplace();
  return JsonMembers(value)
      .required_with("shape", [&](JsonValue v) { return read_shape(v, tensor.shape); })
      .required_with("stride", [&](JsonValue v) { return read_shape(v, tensor.stride); })
      .required_with("dtype", [&](JsonValue v) { return read_type(v, tensor.type); })
      .finish();
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

// [factor, extent, ...]
Status read_flop_term(JsonValue value, FlopTerm& out) {
  if (!value.is_array() || value.size() == 0) return value.expected("[factor, extents...]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], out.factor));
  out.extents.resize(value.size() - 1);
  for (std::size_t i = 1; i < value.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_extent(value[i], out.extents[i - 1]));
  return {};
}

Status read_node(JsonValue value, AtenNode& out) {
  return JsonMembers(value)
      .required("name", out.name)
      .required("op", out.op)
      .optional_with("role", read_word("role", kRoles, out.role))
      .optional("target", out.target)
      .required_with("rule", [&](JsonValue v) { return read_index(v, out.rule); })
      .optional_with("inputs", [&](JsonValue v) { return read_list(v, out.inputs, read_ref); })
      .required_with("outputs", [&](JsonValue v) { return read_list(v, out.outputs, read_tensor); })
      .optional_with("flops", [&](JsonValue v) { return read_list(v, out.flops, read_flop_term); })
      .optional("view", out.view)
      .optional_with("phase", read_word("phase", kPhases, out.backward))
      .optional("module", out.module)
      .optional("line", out.line)
      .ignore({"note"})
      .finish();
}

Status read_output(JsonValue value, AtenOutput& out) {
  return JsonMembers(value)
      .required_with("node", [&](JsonValue v) { return read_index(v, out.value.node); })
      .required_with("output", [&](JsonValue v) { return read_index(v, out.value.output); })
      .required_with("role", read_word("role", kOutputRoles, out.role))
      .required("target", out.target)
      .finish();
}

Status read_format(JsonValue value) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view format, value.string());
  if (format == kAtenGraphFormat) return {};
  return value.expected("\"" + std::string(kAtenGraphFormat) + "\"");
}

}  // namespace

bool is_aten_graph(std::string_view text) {
  // The key comes first in the files of the tracer; others may have it anywhere.
  return text.find('"' + std::string(kAtenGraphFormat) + '"') != std::string_view::npos;
}

Result<AtenGraph> read_aten_graph(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kTracedModel));
  AtenGraphSpec spec;
  std::int64_t version = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(document.root())
          .required_with("format", read_format)
          .required("version", version)
          .optional("model", spec.model)
          .optional("torch", spec.torch)
          .required_with("rules", [&](JsonValue v) { return read_list(v, spec.rules, read_rule); })
          .required_with("nodes", [&](JsonValue v) { return read_list(v, spec.nodes, read_node); })
          .required_with("outputs",
                         [&](JsonValue v) { return read_list(v, spec.outputs, read_output); })
          .ignore({"note"})
          .finish());
  if (version != 1) return invalid_input("/version", "this release reads version 1");
  return AtenGraph::make(std::move(spec));
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
