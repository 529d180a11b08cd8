#include "runtime/io/operators/autoshard_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/operators/autoshard/autoshard_graph.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/list_reading.h"
#include "search/operators/autoshard/solver.h"

namespace shardwright {
namespace {

using operators::autoshard::Assignment;
using operators::autoshard::CostModel;
using operators::autoshard::CostRow;
using operators::autoshard::Evaluation;
using operators::autoshard::Graph;
using operators::autoshard::Iteration;
using operators::autoshard::kCostModelNames;
using operators::autoshard::OpSpec;
using operators::autoshard::OpSpecs;
using operators::autoshard::Request;

// Keys of answers and remarks, which are ignored.
constexpr std::array<std::string_view, 31> kIgnoredKeys{"model",
                                                        "name",
                                                        "seed",
                                                        "expected",
                                                        "group",
                                                        "timing",
                                                        "note",
                                                        "source",
                                                        "description",
                                                        "case",
                                                        "cost_model",
                                                        "bound_sequence",
                                                        "iterations",
                                                        "final",
                                                        "optimum_cost",
                                                        "assignment",
                                                        "table",
                                                        "schedule",
                                                        "num_optimal",
                                                        "one_optimal",
                                                        "num_optimal_assignments",
                                                        "dp_frontier_max",
                                                        "optimum_table",
                                                        "optimal_assignment_one_of",
                                                        "total",
                                                        "z3_iterations",
                                                        "schedule_for_that_optimum",
                                                        "states",
                                                        "error",
                                                        "sample_assignments",
                                                        "iterations_z3_4_8_12"};

}  // namespace

namespace operators::autoshard {

static void describe(JsonMembers& members, OpSpec& op) {
  members.required("name", op.name)
      .word("kind", op.kind, "kind of op", kOpKindNames, "", true)
      .optional("args", op.args, "Names of the ops whose outputs this one reads.")
      .required("shape", op.shape)
      .optional("prev", op.prev)
      .optional("module", op.module)
      .optional("dtype", op.dtype)
      .ignore({"note"});
}

}  // namespace operators::autoshard

namespace {

Status read_graph(JsonValue list, AutoshardEntry& entry) {
  if (!list.is_array()) return list.expected("a list of ops");
  std::vector<OpSpec> ops(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(list[i], ops[i]));
  }
  Result<Graph> graph = Graph::make(std::move(ops));
  const Status checked = graph.ok() ? check_shapes(*graph) : Status(graph.error());
  if (!checked.ok()) {
    Error error = checked.error();
    error.where = entry.place + error.where;
    return error;
  }
  entry.graph = std::make_shared<const Graph>(std::move(graph).value());
  return {};
}

void describe(JsonMembers& members, AutoshardEntry& entry) {
  const auto read_model = [&](JsonValue v) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index,
                                 read_choice(v, "cost model", kCostModelNames));
    entry.model = static_cast<CostModel>(index);
    return {};
  };
  members
      .required_with(
          "graph", [&](JsonValue v) { return read_graph(v, entry); }, list_of<OpSpec>)
      .optional("p", entry.devices, "Devices.")
      .optional_with("version", read_model,
                     [] { return json::one_word(kCostModelNames).says("Cost model."); })
      .ignore(kIgnoredKeys);
}

Status read_entry(JsonValue value, AutoshardEntry& entry) {
  entry.place = value.pointer();
  return read_by(value, [&](JsonMembers& members) { describe(members, entry); });
}

void write_cost(double cost, JsonWriter& writer) {
  constexpr double kExactIntegers = 0x1p53;
  if (cost == std::floor(cost) && std::abs(cost) < kExactIntegers) {
    writer.value(static_cast<std::int64_t>(cost));
  } else {
    writer.value(cost);
  }
}

void write_specs(const OpSpecs& specs, JsonWriter& writer) {
  writer.begin_array();
  for (std::size_t k = 0; k < specs.count; ++k)
    writer.value(name_of(specs.specs[k]));
  writer.end_array();
}

void write_assignment(const Graph& graph, const Assignment& assignment, JsonWriter& writer) {
  writer.begin_object();
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (assignment[i].count == 0) continue;
    writer.key(graph.op(i).name);
    write_specs(assignment[i], writer);
  }
  writer.end_object();
}

void write_table(const Evaluation& evaluation, JsonWriter& writer) {
  writer.begin_array();
  for (const CostRow& row : evaluation.rows) {
    writer.begin_array().value(row.name).value(row.in).value(row.out);
    write_cost(row.cost, writer);
    writer.end_array();
  }
  writer.end_array();
}

JsonShape specs_of_op_shape() { return json::list(json::text()); }

JsonShape assignment_shape() {
  return json::by_name(specs_of_op_shape()).says("Sharding specs by op.");
}

JsonShape table_shape() {
  return json::list(json::tuple({json::text(), json::text(), json::text(), json::number()})
                        .says("[op or tensor, spec before, spec after, elements moved]"));
}

// Writes the specs of each op under the op's name, as Slapo does. An op named like another
// member occurs only in `assignment`.
void write_iteration(const Request& request, const Iteration& iteration, JsonWriter& writer) {
  constexpr std::array<std::string_view, 5> kMembers{"iter", "assignment", "table", "total",
                                                     "schedule"};
  const Graph& graph = *request.graph;
  writer.new_line().begin_object().member("iter", iteration.index);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const std::string& name = graph.op(i).name;
    const bool taken = std::find(kMembers.begin(), kMembers.end(), name) != kMembers.end();
    if (iteration.assignment[i].count == 0 || taken) continue;
    writer.key(name);
    write_specs(iteration.assignment[i], writer);
  }
  writer.key("assignment");
  write_assignment(graph, iteration.assignment, writer);
  writer.key("table");
  write_table(iteration.evaluation, writer);
  writer.key("total");
  write_cost(iteration.evaluation.total, writer);
  writer.key("schedule");
  std::vector<std::string> lines = schedule(graph, iteration.assignment, request.model);
  write_value(writer, lines);
  writer.end_object();
}

JsonShape iteration_shape() {
  JsonShape shape = json::object({{"iter", json::natural(), true},
                                  {"assignment", assignment_shape(), true},
                                  {"table", table_shape(), true},
                                  {"total", json::number(), true},
                                  {"schedule", json::list(json::text()), true}});
  shape.inner.push_back(specs_of_op_shape());
  return shape;
}

}  // namespace

static void describe(JsonMembers& members, AutoshardAnswer& answer) {
  Request& request = answer.request;
  const auto optimum = [&](JsonWriter& json) { write_cost(answer.solution.optimum, json); };
  const auto assignment = [&](JsonWriter& json) {
    write_assignment(*request.graph, answer.solution.assignment, json);
  };
  const auto table = [&](JsonWriter& json) { write_table(answer.evaluation, json); };
  const auto iterations = [&](JsonWriter& json) {
    json.begin_array();
    for (const Iteration& iteration : answer.iterations)
      write_iteration(request, iteration, json);
    json.end_array();
  };
  const auto final = [&](JsonWriter& json) {
    json.begin_object().member("iter", answer.iterations.size()).member("result", "unsat");
    json.end_object();
  };
  members.line()
      .word("version", request.model, "cost model", kCostModelNames, "Cost model.", true)
      .required("p", request.devices, "Devices.")
      .line()
      .written("optimum_cost", optimum, json::number)
      .required("num_optimal", answer.solution.num_optimal, "Assignments of this cost.")
      .line()
      .written("assignment", assignment, assignment_shape)
      .line()
      .written("table", table, table_shape)
      .line()
      .required("schedule", answer.schedule)
      .line()
      .written("iterations", iterations, [] { return json::list(iteration_shape()); })
      .line()
      .written("final", final, [] {
        return json::object(
            {{"iter", json::natural(), true}, {"result", json::one_word({"unsat"}), true}});
      });
}

Result<AutoshardFile> read_autoshard(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kAutoshard));
  if (root.is_array() && root.size() == 0) return root.expected("a graph, or a list of graphs");
  AutoshardFile file;
  file.is_list = root.is_array();
  if (!file.is_list) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_entry(root, file.entries.emplace_back()));
    return file;
  }
  for (std::size_t i = 0; i < root.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_entry(root[i], file.entries.emplace_back()));
  }
  return file;
}

JsonShape autoshard_shape() {
  const JsonShape entry = shape_by([](JsonMembers& members) {
                            AutoshardEntry sample;
                            describe(members, sample);
                          }).named("entry");
  return json::one_of({entry, json::list(entry).from(1)})
      .says("A graph, or a list of graphs, in the form of Slapo. `operators autoshard` reads it.");
}

void write_autoshard(std::span<const AutoshardAnswer> answers, bool as_list, const TextSink& sink) {
  JsonWriter writer(sink);
  if (as_list) writer.begin_array();
  for (const AutoshardAnswer& answer : answers) {
    if (as_list) writer.new_line();
    write_value(writer, answer);
  }
  if (as_list) writer.end_array();
  writer.finish();
}

JsonShape autoshard_answers_shape() {
  const JsonShape answer = shape_of(AutoshardAnswer()).named("answer");
  return json::one_of({answer, json::list(answer)})
      .says("What `operators autoshard` answers, for one graph or a list.");
}

}  // namespace shardwright
