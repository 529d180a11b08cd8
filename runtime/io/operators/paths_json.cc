#include "runtime/io/operators/paths_json.h"

#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/operators/graph/sharding_spec.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"

namespace shardwright {
namespace {

using operators::DeviceMesh;
using operators::DeviceMeshSpec;
using operators::DimSpecs;
using operators::PathCost;
using operators::PhaseCost;
using operators::ReshardPath;
using operators::ReshardStep;
using operators::SpecTable;
using operators::TensorShape;

// Keeps the sum of a few tensors' elements within int64.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 59;

Status read_mesh_shape(JsonValue value, std::vector<std::uint32_t>& shape) {
  if (!value.is_array()) return value.expected("a list with the devices along each axis");
  for (std::size_t axis = 0; axis < value.size(); ++axis) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t size, value[axis].integer());
    if (size < 1 || size > std::numeric_limits<std::uint32_t>::max())
      return value[axis].error("a mesh axis has at least one device and at most 2^32 - 1");
    shape.push_back(static_cast<std::uint32_t>(size));
  }
  return {};
}

Status read_shape(JsonValue value, std::vector<std::int64_t>& shape) {
  if (!value.is_array()) return value.expected("a list with the extents of the tensor");
  if (value.size() > DimSpecs::kMaxRank) {
    return value.error("a tensor has at most " + std::to_string(DimSpecs::kMaxRank) +
                       " dimensions");
  }
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < value.size(); ++dim) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t extent, value[dim].integer());
    if (extent < 0) return value[dim].error("an extent is not negative");
    if (extent > 0 && elements > kMaxElements / extent)
      return value.error("the tensor has more than 2^59 elements");
    elements *= extent;
    shape.push_back(extent);
  }
  return {};
}

// Changes `/shape` in an error of DeviceMesh to `/mesh`, the file's key.
Error at_mesh(Error error, JsonValue question) {
  constexpr std::string_view kShape = "/shape";
  if (error.where.starts_with(kShape)) error.where.replace(0, kShape.size(), "/mesh");
  error.where = question.pointer() + error.where;
  return error;
}

std::string why_invalid(const SpecTable& table, const TensorShape& shape, const DimSpecs& specs) {
  if (specs.rank() != shape.rank()) {
    return std::to_string(specs.rank()) + " dimensions for a tensor of " +
           std::to_string(shape.rank());
  }
  if ((specs.used_axes() >> table.mesh().num_axes()) != 0) return "the mesh has no such axis";
  if (!specs.disjoint()) return "a mesh axis shards two dimensions";
  for (std::size_t dim = 0; dim < specs.rank(); ++dim) {
    const std::uint32_t devices = table.mesh().devices_along(specs[dim].axes);
    if (shape.dims[dim] % devices == 0) continue;
    return "dimension " + std::to_string(dim) + " of " + std::to_string(shape.dims[dim]) +
           " elements cannot be split over " + std::to_string(devices) + " devices";
  }
  return "";
}

Status read_spec(JsonValue value, const SpecTable& table, const TensorShape& shape,
                 DimSpecs& specs) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view text, value.string());
  const Result<DimSpecs> parsed = DimSpecs::parse(text);
  if (!parsed.ok()) return value.error(parsed.error().message);
  specs = *parsed;
  if (!table.valid(shape, specs))
    return value.error("\"" + std::string(text) + "\": " + why_invalid(table, shape, specs));
  return {};
}

Status read_pairs(JsonValue list, ReshardQuestions& questions) {
  if (!list.is_array() || list.size() == 0)
    return list.expected("a list of at least one pair of sharding specs");
  const SpecTable table(questions.mesh);
  const TensorShape shape{questions.shape};
  questions.pairs.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_array() || list[i].size() < 2)
      return list[i].expected("a pair of a source and a target, such as [\"S0,R\", \"R,R\"]");
    SHARDWRIGHT_RETURN_IF_ERROR(read_spec(list[i][0], table, shape, questions.pairs[i].from));
    SHARDWRIGHT_RETURN_IF_ERROR(read_spec(list[i][1], table, shape, questions.pairs[i].to));
  }
  return {};
}

// Keeps the pairs unread until mesh and shape are known.
void describe_questions(JsonMembers& members, DeviceMeshSpec& mesh, ReshardQuestions& questions,
                        std::optional<JsonValue>& pairs) {
  const auto keep = [&](JsonValue v) {
    pairs = v;
    return Status();
  };
  members
      .required_with(
          "mesh", [&](JsonValue v) { return read_mesh_shape(v, mesh.shape); },
          [] { return json::list(json::integer().from(1)).says("Devices along each axis."); })
      .required_with(
          "shape", [&](JsonValue v) { return read_shape(v, questions.shape); },
          [] { return json::list(json::natural()).says("Extents of the tensor."); })
      .optional("alpha", mesh.alpha, "Latency along each axis; 1 if left out.")
      .optional("beta", mesh.beta, "Time per element along each axis; 1 if left out.")
      .required_with("pairs", keep,
                     [] {
                       return json::list(json::tuple({json::text().says("A source such as S0,R."),
                                                      json::text().says("A target."), json::any()})
                                             .open())
                           .from(1);
                     })
      .ignore({"columns", "name", "note", "source", "group", "expected", "timing"});
}

Status read_questions(JsonValue value, ReshardQuestions& questions) {
  DeviceMeshSpec spec;
  std::optional<JsonValue> pairs;
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(
      value, [&](JsonMembers& members) { describe_questions(members, spec, questions, pairs); }));
  auto mesh = DeviceMesh::make(std::move(spec));
  if (!mesh.ok()) return at_mesh(mesh.error(), value);
  questions.mesh = std::move(mesh).value();
  return read_pairs(*pairs, questions);
}

void write_cost(JsonWriter& json, const PhaseCost& cost) {
  json.begin_array().value(cost.forward).value(cost.backward).value(cost.total).end_array();
}

// Writes empty lists if source and target are equal; nulls if there is no path.
void write_steps(JsonWriter& json, const DimSpecs& from, const ReshardPath& path) {
  if (!path.found) {
    json.null().null();
    return;
  }
  json.begin_array();
  if (!path.steps.empty()) json.value(from.to_string());
  for (const ReshardStep& step : path.steps)
    json.value(step.result.to_string());
  json.end_array().begin_array();
  for (const ReshardStep& step : path.steps) {
    json.begin_array()
        .value(pattern_name(step.pattern))
        .value(step.gather_dim)
        .value(step.shard_dim)
        .value(step.axis)
        .end_array();
  }
  json.end_array();
}

void write_row(JsonWriter& json, const ReshardQuestions::Pair& pair, const ReshardPath& path,
               PathCost mode) {
  json.begin_array().value(pair.from.to_string()).value(pair.to.to_string());
  if (mode != PathCost::kExact) json.value(difference(pair.from, pair.to));
  write_steps(json, pair.from, path);
  if (!path.found || mode == PathCost::kExact) {
    write_cost(json, path.cost);
    if (mode != PathCost::kExact) write_cost(json, path.cost);
  } else {
    write_cost(json, path_cost(path.steps, PathCost::kCompat));
    write_cost(json, path_cost(path.steps, PathCost::kSum));
  }
  json.end_array();
}

// Returns the names of the columns of a row.
std::vector<std::string> columns_of(PathCost mode) {
  if (mode == PathCost::kExact)
    return {"src", "dst", "path", "ops[op,gather_dim,shard_dim,axis]", "cost[fwd,bwd,total]"};
  return {"src",
          "dst",
          "difference",
          "path",
          "ops[op,gather_dim,shard_dim,axis]",
          "compat_cost[fwd,bwd,total]",
          "sum_cost[fwd,bwd,total]"};
}

JsonShape rows_shape() {
  const JsonShape spec = json::text();
  const JsonShape path = json::list(spec).or_null();
  const JsonShape step = json::tuple({json::one_word({"all_gather", "all_to_all", "shard"}),
                                      json::integer(), json::integer(), json::natural()});
  const JsonShape steps = json::list(step).or_null();
  const JsonShape number = json::number().or_null();
  const JsonShape cost = json::tuple({number, number, number});
  return json::list(
             json::one_of({json::tuple({spec, spec, path, steps, cost}),
                           json::tuple({spec, spec, json::integer(), path, steps, cost, cost})}))
      .says("Rows of `columns`. Path and steps are null if there is no path.");
}

// The members of an answer except its rows.
struct AnswerHead {
  std::vector<std::uint32_t> mesh;
  std::vector<std::int64_t> shape;
  std::vector<double> alpha, beta;
  std::vector<std::string> columns;
};

template <class Function>
void describe_answer(JsonMembers& members, AnswerHead& head, const Function& write_rows) {
  members.required("mesh", head.mesh)
      .required("shape", head.shape)
      .required("alpha", head.alpha)
      .required("beta", head.beta)
      .required("columns", head.columns)
      .written("pairs", write_rows, rows_shape);
}

}  // namespace

Result<std::vector<ReshardQuestions>> read_reshard_questions(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kPaths));
  if (!root.is_array() || root.size() == 0)
    return root.expected("a list of at least one object with `mesh`, `shape` and `pairs`");
  std::vector<ReshardQuestions> questions(root.size());
  for (std::size_t i = 0; i < root.size(); ++i)
    SHARDWRIGHT_RETURN_IF_ERROR(read_questions(root[i], questions[i]));
  return questions;
}

JsonShape reshard_questions_shape() {
  return json::list(shape_by([](JsonMembers& members) {
           DeviceMeshSpec mesh;
           ReshardQuestions sample;
           std::optional<JsonValue> pairs;
           describe_questions(members, mesh, sample, pairs);
         }))
      .from(1)
      .says("Pairs of shardings between which `operators paths` finds the way.");
}

std::string_view pattern_name(operators::ReshardPattern pattern) {
  constexpr std::array<std::string_view, 3> kNames{"all_gather", "all_to_all", "shard"};
  return kNames[static_cast<std::size_t>(pattern)];
}

void write_reshard_answers(std::span<const ReshardQuestions> questions,
                           std::span<const std::vector<ReshardPath>> paths, PathCost mode,
                           const TextSink& sink) {
  SHARDWRIGHT_CHECK(questions.size() == paths.size());
  JsonWriter json(sink);
  json.begin_array();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const ReshardQuestions& asked = questions[i];
    SHARDWRIGHT_CHECK(asked.pairs.size() == paths[i].size());
    const operators::DeviceMeshSpec& mesh = asked.mesh->spec();
    AnswerHead head{mesh.shape, asked.shape, mesh.alpha, mesh.beta, columns_of(mode)};
    json.new_line().begin_object();
    JsonMembers members(json);
    describe_answer(members, head, [&](JsonWriter&) {
      json.begin_array();
      for (std::size_t k = 0; k < asked.pairs.size(); ++k)
        write_row(json.new_line(), asked.pairs[k], paths[i][k], mode);
      json.end_array();
    });
    json.end_object();
  }
  json.end_array().finish();
}

JsonShape reshard_answers_shape() {
  return json::list(shape_by([](JsonMembers& members) {
           AnswerHead sample;
           describe_answer(members, sample, [](JsonWriter&) {});
         }))
      .says("What `operators paths` answers.");
}

}  // namespace shardwright
