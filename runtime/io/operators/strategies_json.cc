#include "runtime/io/operators/strategies_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/nearest_name.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/op_graph_json.h"

namespace shardwright {
namespace {

using operators::CommAction;
using operators::CommPattern;
using operators::MemoryCost;
using operators::NodeStrategies;
using operators::Operand;
using operators::PhaseCost;
using operators::ShardingSpec;
using operators::Strategy;

constexpr std::array<std::string_view, 4> kPatterns{"all_reduce_fwd_identity_bwd",
                                                    "identity_fwd_all_reduce_bwd",
                                                    "gather_fwd_split_bwd", "reshard"};
constexpr std::array<std::string_view, 3> kPlaces{"BEFORE", "AFTER", "HOOK"};

void write_spec(const ShardingSpec& spec, JsonWriter& writer) {
  writer.value("[" + spec.dims.to_string() + "]");
}

void write_specs(const NodeStrategies& of, std::size_t s, JsonWriter& writer) {
  writer.begin_object();
  for (const Operand& operand : of.operands()) {
    writer.key(operand.name);
    if (operand.tuple) writer.begin_array();
    for (const ShardingSpec* spec : of.specs(s, operand))
      write_spec(*spec, writer);
    if (operand.tuple) writer.end_array();
  }
  writer.end_object();
}

JsonShape specs_shape() {
  return json::by_name(json::one_of({json::text(), json::list(json::text())}))
      .says("Sharding specs by operand, such as [S0,R]; a list for a tuple.");
}

void write_comm(const NodeStrategies& of, const Strategy& strategy, JsonWriter& writer) {
  writer.begin_object();
  for (const CommAction& action : strategy.comm_actions()) {
    writer.key(of.operands()[action.operand].name);
    const std::string_view pattern = kPatterns[static_cast<std::size_t>(action.pattern)];
    if (action.pattern == CommPattern::kReshard) {
      writer.value(pattern);
      continue;
    }
    writer.begin_array().value(pattern).value(action.axis());
    writer.value(kPlaces[static_cast<std::size_t>(action.place)]).end_array();
  }
  writer.end_object();
}

JsonShape comm_shape() {
  const std::span<const std::string_view> patterns(kPatterns);
  const JsonShape action =
      json::tuple({json::one_word(patterns.first(3)), json::natural(), json::one_word(kPlaces)});
  return json::by_name(json::one_of({json::one_word(patterns.last(1)), action}))
      .says("Communication by operand: [pattern, axis of the mesh, place], or reshard.");
}

// One strategy for writing; members not copied here are read from strategy `index` of `of`.
struct StrategyAnswer {
  const NodeStrategies* of = nullptr;
  std::size_t index = 0;
  std::string name;
  std::vector<double> comm_cost, compute_cost;
  std::vector<MemoryCost> memory;
};

struct RecordAnswer {
  std::string id;
  std::size_t count = 0;
  std::vector<StrategyAnswer> strategies;
};

struct StrategiesAnswer {
  std::vector<RecordAnswer> records;
};

}  // namespace

namespace operators {

static void describe(JsonMembers& members, MemoryCost& cost) {
  members.required("act", cost.activation, "Bytes of activations.")
      .required("param", cost.parameter)
      .required("temp", cost.temporary)
      .required("buf", cost.buffer);
}

}  // namespace operators

namespace {

void describe(JsonMembers& members, StrategyAnswer& answer) {
  // Called where an answer is written. A schema's sample has no `of`, and is not written.
  // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
  const auto specs = [&](JsonWriter& json) { write_specs(*answer.of, answer.index, json); };
  const auto comm = [&](JsonWriter& json) {
    write_comm(*answer.of, (*answer.of)[answer.index], json);
  };
  members.required("name", answer.name)
      .written("specs", specs, specs_shape)
      .written("comm", comm, comm_shape)
      .required("comm_cost", answer.comm_cost, "[forward, backward, total]: bytes sent.")
      .required("compute_cost", answer.compute_cost, "[forward, backward, total]: multiplications.")
      .required("memory", answer.memory, "[forward, backward, total] of a device.");
}

void describe(JsonMembers& members, RecordAnswer& record) {
  members.required("id", record.id)
      .required("count", record.count)
      .rows("strategies", record.strategies);
}

void describe(JsonMembers& members, StrategiesAnswer& answer) {
  members.rows("records", answer.records);
}

RecordAnswer answer_of(const NamedStrategies& named) {
  const NodeStrategies& of = named.strategies;
  const auto phases = [](const PhaseCost& cost) {
    return std::vector<double>{cost.forward, cost.backward, cost.total};
  };
  RecordAnswer record{named.id, of.size(), {}};
  for (std::size_t s = 0; s < of.size(); ++s) {
    const operators::PhaseMemory& memory = of[s].memory;
    record.strategies.push_back({&of,
                                 s,
                                 of.name(s),
                                 phases(of[s].comm),
                                 phases(of[s].compute),
                                 {memory.forward, memory.backward, memory.total}});
  }
  return record;
}

}  // namespace

void write_strategies(const std::vector<NamedStrategies>& records, const TextSink& sink) {
  StrategiesAnswer answer;
  for (const NamedStrategies& record : records)
    answer.records.push_back(answer_of(record));
  write_json(answer, sink);
}

JsonShape strategies_shape() {
  return shape_of(StrategiesAnswer()).says("What `operators strategies` answers.");
}

namespace {

using operators::OpCall;
using operators::OpGraph;
using operators::OpGraphSpec;
using operators::OpNode;

enum class Type : unsigned char { kArgument, kParameter, kBuffer, kOutput };
constexpr std::array<std::string_view, 4> kTypeNames{"ARG", "PARAM", "BUFFER", "OUTPUT"};

// An operand of a record. Its tensor has the form of a node.
struct RoleOperand {
  std::string role;
  Type type = Type::kArgument;
  OpNode tensor;
};

// The roles of operands. The operands of an output node are numbered instead, as "input_0".
constexpr std::array<std::string_view, 10> kRecordRoles{
    "input",     "other", "output", "bias", "running_mean", "running_var", "num_batches_tracked",
    "condition", "x",     "y"};

Status check_role(JsonValue operand) {
  const std::string_view role = operand.key();
  constexpr std::string_view kNumbered = "input_";
  const bool numbered =
      role.starts_with(kNumbered) && role.size() > kNumbered.size() &&
      role.find_first_not_of("0123456789", kNumbered.size()) == std::string_view::npos;
  if (numbered || std::find(kRecordRoles.begin(), kRecordRoles.end(), role) != kRecordRoles.end())
    return {};
  return operand.error("unknown role \"" + std::string(role) + "\"" +
                       suggestion(role, kRecordRoles));
}

// Returns the position of a role among the operator's arguments.
int argument_rank(std::string_view role) {
  if (role == "other" || role == "x") return 1;
  if (role == "bias" || role == "y") return 2;
  return 0;
}

void describe(JsonMembers& members, RoleOperand& operand) {
  OpNode& tensor = operand.tensor;
  members.required("name", tensor.name)
      .word("type", operand.type, "operand type", kTypeNames, "", true)
      .required_with(
          "shape", [&](JsonValue v) { return read_shapes(v, tensor); }, shapes_shape)
      .optional("dtype", tensor.type)
      .ignore({"logical_shape"});  // computed from operator and shapes
}

Status read_operands(JsonValue value, std::vector<RoleOperand>& operands) {
  if (!value.is_object()) return value.expected("an object of operands");
  for (std::size_t i = 0; i < value.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_role(value[i]));
    RoleOperand& operand = operands.emplace_back();
    operand.role = value[i].key();
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[i], operand));
    operand.tensor.is_param = operand.type == Type::kParameter;
  }
  std::stable_sort(operands.begin(), operands.end(), [](const auto& a, const auto& b) {
    return argument_rank(a.role) < argument_rank(b.role);
  });
  return {};
}

JsonShape operands_shape() {
  const JsonShape operand = shape_of(RoleOperand()).named("operand");
  JsonShape operands = json::by_name(operand).like("^input_[0-9]+$");
  for (const std::string_view role : kRecordRoles)
    operands.members.push_back({std::string(role), operand});
  return std::move(operands).named("operands");
}

struct RawRecord {
  OpNode node;
  std::vector<RoleOperand> operands;
  std::optional<JsonValue> producer;
  bool distributed = false;
};

// Describes the members that records and producers share.
void describe_operator(JsonMembers& members, RawRecord& raw, const JsonShape& producer) {
  describe_kind(members, raw.node);
  describe_attrs(members, raw.node.attrs, raw.distributed);
  members
      .required_with(
          "operands", [&](JsonValue v) { return read_operands(v, raw.operands); }, operands_shape)
      .optional_with(
          "producer",
          [&](JsonValue v) -> Status {
            if (!v.is_null()) raw.producer = v;
            return {};
          },
          [&] {
            return json::one_of({producer}).or_null().says("What computes the operand `input`.");
          });
}

void describe_producer(JsonMembers& members, RawRecord& raw, std::string& name) {
  members.required("name", name);
  describe_operator(members, raw, json::defined("producer"));
}

JsonShape producer_shape() {
  return shape_by([](JsonMembers& members) {
           RawRecord sample;
           std::string name;
           describe_producer(members, sample, name);
         })
      .named("producer");
}

// The parts from which a StrategyRecord is made.
struct Parts {
  OpGraphSpec spec;
  std::vector<std::uint32_t> chain;
  operators::StrategyOptions options;
};

// Adds an operand as a parameter of the module, or as a node that is an input.
void attach(RoleOperand&& operand, OpNode& node, OpGraphSpec& spec) {
  const bool owned = node.call == OpCall::kModule && operand.type != Type::kArgument;
  if (owned) {
    node.params.push_back({operand.tensor.name, operand.tensor.shapes[0], operand.tensor.type,
                           operand.type == Type::kBuffer});
    return;
  }
  node.inputs.push_back(static_cast<std::uint32_t>(spec.nodes.size()));
  spec.nodes.push_back(std::move(operand.tensor));
}

Status add_producer(JsonValue value, const std::string& expected_name, Parts& parts);

Status add_operator(RawRecord&& raw, JsonValue place, Parts& parts) {
  OpNode& node = raw.node;
  bool has_output = false;
  for (RoleOperand& operand : raw.operands) {
    if (operand.type == Type::kOutput) {
      if (has_output) return place.error("has two operands of type OUTPUT");
      has_output = true;
      node.name = operand.tensor.name;
      node.shapes = operand.tensor.shapes;
      node.tuple = operand.tensor.tuple;
      node.type = operand.tensor.type;
    } else if (operand.role == "input" && raw.producer) {
      SHARDWRIGHT_RETURN_IF_ERROR(add_producer(*raw.producer, operand.tensor.name, parts));
      node.inputs.push_back(parts.chain.back());
      parts.spec.nodes[node.inputs.back()].is_param = operand.tensor.is_param;
    } else if (operand.tensor.tuple && node.kind != operators::OpKind::kOutput) {
      return place.error("a tuple needs a `producer`");
    } else {
      attach(std::move(operand), node, parts.spec);
    }
  }
  if (!has_output) return place.error("has no operand of type OUTPUT");
  if (operators::follows_input(node.kind) && !raw.producer)
    return place.error("an operator that follows its input needs a `producer`");
  order_params(node.params);
  spread_window(node);
  if (node.kind == operators::OpKind::kPlaceholder)
    parts.options.distributed_placeholder = raw.distributed;
  if (node.kind == operators::OpKind::kOutput) parts.options.distributed_output = raw.distributed;
  parts.chain.push_back(static_cast<std::uint32_t>(parts.spec.nodes.size()));
  parts.spec.nodes.push_back(std::move(node));
  return {};
}

Status add_producer(JsonValue value, const std::string& expected_name, Parts& parts) {
  RawRecord raw;
  std::string name;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(value, [&](JsonMembers& members) { describe_producer(members, raw, name); }));
  SHARDWRIGHT_RETURN_IF_ERROR(add_operator(std::move(raw), value, parts));
  if (parts.spec.nodes.back().name == expected_name) return {};
  return value.error("makes \"" + parts.spec.nodes.back().name + "\", but the input is \"" +
                     expected_name + "\"");
}

Status read_mesh(JsonValue value, operators::DeviceMeshSpec& mesh) {
  std::vector<std::int64_t> shape;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, shape));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1 || shape[i] > std::int64_t{1} << 31)
      return value[i].error("an axis must have at least one device, and at most 2^31");
    mesh.shape.push_back(static_cast<std::uint32_t>(shape[i]));
  }
  return {};
}

// Changes `/shape` in an error of DeviceMesh to `/mesh`, the record's key.
Error at_mesh(JsonValue record, Error error) {
  constexpr std::string_view kShape = "/shape";
  if (error.where.starts_with(kShape)) error.where.replace(0, kShape.size(), "/mesh");
  error.where = record.pointer() + error.where;
  return error;
}

void describe_record(JsonMembers& members, std::string& id, operators::DeviceMeshSpec& mesh,
                     operators::StrategyOptions& options, RawRecord& raw,
                     const JsonShape& producer) {
  members.required("id", id)
      .required_with(
          "mesh", [&](JsonValue v) { return read_mesh(v, mesh); },
          [] {
            return json::list(json::integer().from(1)).or_null().says("Devices along each axis.");
          })
      .optional("alpha", mesh.alpha)
      .optional("beta", mesh.beta)
      .optional("shard_option", options.shard_option)
      .optional("solver_preference", options.solver_preference);
  describe_operator(members, raw, producer);
  members.ignore({"expected", "note"});
}

Result<StrategyRecord> read_record(JsonValue value) {
  RawRecord raw;
  Parts parts;
  operators::DeviceMeshSpec mesh_spec;
  std::string id;
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(value, [&](JsonMembers& members) {
    describe_record(members, id, mesh_spec, parts.options, raw, {});
  }));
  auto mesh = operators::DeviceMesh::make(std::move(mesh_spec));
  if (!mesh.ok()) return at_mesh(value, mesh.error());
  SHARDWRIGHT_RETURN_IF_ERROR(add_operator(std::move(raw), value, parts));
  parts.spec.name = id;
  auto graph = OpGraph::make(std::move(parts.spec));
  if (!graph.ok()) {
    // The file has no list of nodes, so the pointer into the graph is dropped.
    return value.error(graph.error().message);
  }
  return StrategyRecord{std::move(id), std::move(mesh).value(), std::move(graph).value(),
                        std::move(parts.chain), parts.options};
}

Status read_records(JsonValue list, std::vector<StrategyRecord>& records) {
  if (!list.is_array() || list.size() == 0) return list.expected("a list of at least one record");
  for (std::size_t i = 0; i < list.size(); ++i) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(StrategyRecord record, read_record(list[i]));
    records.push_back(std::move(record));
  }
  return {};
}

JsonShape record_shape() {
  return shape_by([](JsonMembers& members) {
    std::string id;
    operators::DeviceMeshSpec mesh;
    operators::StrategyOptions options;
    RawRecord raw;
    describe_record(members, id, mesh, options, raw, producer_shape());
  });
}

void describe_records(JsonMembers& members, std::vector<StrategyRecord>& records) {
  members.required_with(
      "records", [&](JsonValue list) { return read_records(list, records); },
      [] { return json::list(record_shape()).from(1); });
}

}  // namespace

Result<std::vector<StrategyRecord>> read_strategy_records(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kStrategies));
  std::vector<StrategyRecord> records;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(document.root(), [&](JsonMembers& members) { describe_records(members, records); }));
  return records;
}

JsonShape strategy_records_shape() {
  return shape_by([](JsonMembers& members) {
           std::vector<StrategyRecord> sample;
           describe_records(members, sample);
         })
      .says("Operators of which `operators strategies` lists the ways to shard them.");
}

}  // namespace shardwright
