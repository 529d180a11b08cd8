// Reads cases, each of which reshards one tensor.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/program_parts_json.h"

namespace shardwright {
namespace {

using namespace internal;
using namespace program;

constexpr std::array<std::string_view, 11> kAnswerKeys{"group",
                                                       "seq",
                                                       "inserted",
                                                       "syncs_if_sync_per_insert",
                                                       "usable",
                                                       "has_self_send",
                                                       "upstream_correct",
                                                       "upstream_collective_consistent",
                                                       "counters",
                                                       "expected",
                                                       "note"};

constexpr std::array<std::string_view, 6> kMeshAnswerKeys{
    "steps", "numerically_correct", "has_redundant_gather_split", "group", "expected", "note"};

auto attribute(DistAttr& out) {
  return [&out](JsonValue value) -> Status {
    std::vector<std::int64_t> shape;
    std::vector<Rank> ids;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required("mesh", shape)
            .required_with("ids", [&](JsonValue list) { return read_ranks(list, ids); })
            .required_with("dims_mapping",
                           [&](JsonValue v) { return read_mapping(v, out.dims_mapping); })
            .optional_with("partial", [&](JsonValue v) { return read_partial(v, out.partial); })
            .finish());
    SHARDWRIGHT_ASSIGN_OR_RETURN(out.mesh,
                                 make_mesh(value, "mesh", "ids", std::move(shape), std::move(ids)));
    return {};
  };
}

// Reads a list of mesh axes along which the tensor is a partial sum.
Status read_partial_sums(JsonValue value, PartialAxes& out) {
  std::vector<std::int64_t> axes;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, axes));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(kMaxMeshAxes)) {
      return value[i].error("the mesh has no axis " + std::to_string(axes[i]));
    }
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
    out[axis] = Reduction::kSum;
  }
  return {};
}

// Checks a placement on the mesh. Errors name the keys of this kind of case.
Status check_on_mesh(JsonValue value, const char* mapping_key, const char* partial_key,
                     const DistAttr& attr, const Shape& shape) {
  const Status status = check(attr, shape.size());
  if (status.ok()) return {};
  constexpr std::string_view kMapping = "/dims_mapping";
  const std::string& where = status.error().where;
  const std::string within = where.starts_with(kMapping)
                                 ? mapping_key + where.substr(kMapping.size())
                                 : std::string(partial_key);
  return invalid_input(value.pointer() + "/" + within, status.error().message);
}

Status read_mesh_case(JsonValue value, ReshardCaseDocument& out) {
  std::vector<std::int64_t> mesh_shape;
  ReshardCase& request = out.request;
  out.on_mesh = true;
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(value)
          .required("mesh", mesh_shape)
          .required_with("shape", [&](JsonValue v) { return read_extents(v, request.shape); })
          .required_with("src",
                         [&](JsonValue v) { return read_mapping(v, request.source.dims_mapping); })
          .optional_with("src_partial",
                         [&](JsonValue v) { return read_partial_sums(v, request.source.partial); })
          .required_with("dst",
                         [&](JsonValue v) { return read_mapping(v, request.target.dims_mapping); })
          .optional_with("dst_partial",
                         [&](JsonValue v) { return read_partial_sums(v, request.target.partial); })
          .ignore(kMeshAnswerKeys)
          .finish());
  std::int64_t ranks = 1;
  for (const std::int64_t extent : mesh_shape) {
    if (extent < 1 || extent > (1 << 20) / ranks) {
      return invalid_input(value.pointer() + "/mesh",
                           "an axis has at least one rank, and all together at most 2^20");
    }
    ranks *= extent;
  }
  std::vector<Rank> ids;
  for (std::int64_t i = 0; i < ranks; ++i)
    ids.push_back(static_cast<Rank>(i));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      request.source.mesh, make_mesh(value, "mesh", "mesh", std::move(mesh_shape), std::move(ids)));
  request.target.mesh = request.source.mesh;
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_on_mesh(value, "src", "src_partial", request.source, request.shape));
  return check_on_mesh(value, "dst", "dst_partial", request.target, request.shape);
}

Status read_case(JsonValue value, ReshardCaseDocument& out) {
  if (value.is_object() && value.find("mesh")) return read_mesh_case(value, out);
  ReshardCase& request = out.request;
  return ObjectReader(value)
      .required_with("shape", [&](JsonValue v) { return read_extents(v, request.shape); })
      .optional_with("dtype", named("data type", data_type_names(), request.type))
      .required_with("src", attribute(request.source))
      .required_with("dst", attribute(request.target))
      .ignore(kAnswerKeys)
      .finish();
}

}  // namespace

Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kReshard));
  if (!root.is_array() || root.size() == 0) return root.expected("a list of at least one case");
  std::vector<ReshardCaseDocument> cases(root.size());
  for (std::size_t i = 0; i < root.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_case(root[i], cases[i]));
  }
  return cases;
}

}  // namespace shardwright
