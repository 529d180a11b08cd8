#include "runtime/io/program_json.h"

#include <array>
#include <string>
#include <unordered_map>

#include "runtime/io/json_reader.h"

namespace shardwright {
namespace {

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

// One of the names that a lookup knows.
template <class Enum>
auto named(const char* what, std::optional<Enum> (*lookup)(std::string_view), Enum& out) {
  return [what, lookup, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
    const std::optional<Enum> found = lookup(name);
    if (!found)
      return value.error("unknown " + std::string(what) + " \"" + std::string(name) + "\"");
    out = *found;
    return {};
  };
}

// A list of integers with at most `capacity` entries, each at least `least`.
template <class List>
auto integers(List& out, std::int64_t least) {
  return [&out, least](JsonValue value) -> Status {
    std::vector<std::int64_t> list;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, list));
    if (list.size() > List::static_capacity) {
      return value.error("a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
    }
    out.clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i] < least || (sizeof(typename List::value_type) == 1 && list[i] > 100)) {
        return value[i].error("out of range");
      }
      out.push_back(static_cast<typename List::value_type>(list[i]));
    }
    return {};
  };
}

Status at(const Status& status, JsonValue value) {
  if (status.ok()) return {};
  return invalid_input(value.pointer() + status.error().where, status.error().message);
}

Status read_ranks(JsonValue value, std::vector<Rank>& out) {
  std::vector<std::int64_t> ids;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > (1 << 30)) return value[i].error("a rank is between 0 and 2^30");
    out.push_back(static_cast<Rank>(ids[i]));
  }
  return {};
}

Result<ProcessMesh> make_mesh(JsonValue value, std::vector<std::int64_t> shape,
                              std::vector<Rank> ids) {
  Result<ProcessMesh> mesh = ProcessMesh::make(std::move(shape), std::move(ids));
  if (!mesh.ok()) return invalid_input(value.pointer() + mesh.error().where, mesh.error().message);
  return mesh;
}

// {"0": "sum"}: per mesh axis what is due on it.
auto partial_axes(PartialAxes& out) {
  return [&out](JsonValue value) -> Status {
    if (value.is_null()) return {};
    if (!value.is_object()) return value.expected("an object from mesh axis to reduction");
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string_view key = value[i].key();
      if (key.size() != 1 || key[0] < '0' || key[0] >= static_cast<char>('0' + kMaxMeshAxes)) {
        return value[i].error("is no mesh axis");
      }
      Reduction due = Reduction::kNone;
      SHARDWRIGHT_RETURN_IF_ERROR(named("reduction", &reduction_named, due)(value[i]));
      const auto axis = static_cast<std::size_t>(key[0] - '0');
      if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
      out[axis] = due;
    }
    return {};
  };
}

auto attribute(DistAttr& out) {
  return [&out](JsonValue value) -> Status {
    std::vector<std::int64_t> shape;
    std::vector<Rank> ids;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required("mesh", shape)
            .required_with("ids", [&](JsonValue list) { return read_ranks(list, ids); })
            .required_with("dims_mapping", integers(out.dims_mapping, -1))
            .optional_with("partial", partial_axes(out.partial))
            .finish());
    Result<ProcessMesh> mesh = ProcessMesh::make(std::move(shape), std::move(ids));
    if (!mesh.ok()) {
      const bool of_shape = mesh.error().where == "/shape";
      return invalid_input(value.pointer() + (of_shape ? "/mesh" : "/ids"), mesh.error().message);
    }
    out.mesh = std::move(mesh).value();
    return {};
  };
}

Status read_mesh_case(JsonValue value, ReshardCaseDocument& out) {
  std::vector<std::int64_t> mesh_shape;
  std::vector<std::int64_t> source_partial;
  std::vector<std::int64_t> target_partial;
  ReshardCase& request = out.request;
  out.on_mesh = true;
  SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value)
                                  .required("mesh", mesh_shape)
                                  .required_with("shape", integers(request.shape, 0))
                                  .required_with("src", integers(request.source.dims_mapping, -1))
                                  .optional("src_partial", source_partial)
                                  .required_with("dst", integers(request.target.dims_mapping, -1))
                                  .optional("dst_partial", target_partial)
                                  .ignore(kMeshAnswerKeys)
                                  .finish());
  std::int64_t ranks = 1;
  for (const std::int64_t extent : mesh_shape) {
    if (extent < 1 || extent > (1 << 20) / ranks) return value.error("the mesh is out of range");
    ranks *= extent;
  }
  std::vector<Rank> ids;
  for (std::int64_t i = 0; i < ranks; ++i)
    ids.push_back(static_cast<Rank>(i));
  SHARDWRIGHT_ASSIGN_OR_RETURN(request.source.mesh, make_mesh(value, mesh_shape, ids));
  request.target.mesh = request.source.mesh;
  const auto mark = [&](const std::vector<std::int64_t>& axes, PartialAxes& partial) -> Status {
    for (const std::int64_t axis : axes) {
      if (axis < 0 || axis >= static_cast<std::int64_t>(mesh_shape.size())) {
        return value.error("the mesh has no axis " + std::to_string(axis));
      }
      partial.resize(mesh_shape.size(), Reduction::kNone);
      partial[static_cast<std::size_t>(axis)] = Reduction::kSum;
    }
    return {};
  };
  SHARDWRIGHT_RETURN_IF_ERROR(mark(source_partial, request.source.partial));
  return mark(target_partial, request.target.partial);
}

Status read_case(JsonValue value, ReshardCaseDocument& out) {
  if (value.is_object() && value.find("mesh")) return read_mesh_case(value, out);
  ReshardCase& request = out.request;
  return ObjectReader(value)
      .required_with("shape", integers(request.shape, 0))
      .optional_with("dtype", named("data type", &data_type_named, request.type))
      .required_with("src", attribute(request.source))
      .required_with("dst", attribute(request.target))
      .ignore(kAnswerKeys)
      .finish();
}

// Reads one program.
class ProgramReader {
 private:
  auto each(Status (ProgramReader::*read_element)(JsonValue)) {
    return [this, read_element](JsonValue value) -> Status {
      if (!value.is_array()) return value.expected("a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        SHARDWRIGHT_RETURN_IF_ERROR((this->*read_element)(value[i]));
      }
      return {};
    };
  }

  Status read_mesh(JsonValue value) {
    std::vector<std::int64_t> shape;
    std::vector<Rank> ids;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required("shape", shape)
            .required_with("ids", [&](JsonValue list) { return read_ranks(list, ids); })
            .finish());
    SHARDWRIGHT_ASSIGN_OR_RETURN(ProcessMesh mesh,
                                 make_mesh(value, std::move(shape), std::move(ids)));
    spec_.meshes.push_back(std::move(mesh));
    return {};
  }

  // {"parent": index}; block 0 is there without being listed.
  Status read_block(JsonValue value) {
    std::int64_t parent = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value).required("parent", parent).finish());
    if (parent < 0 || parent > static_cast<std::int64_t>(spec_.block_parents.size())) {
      return value.error("the parent must be an earlier block");
    }
    spec_.block_parents.emplace_back(static_cast<std::size_t>(parent));
    return {};
  }

  template <class AnyId>
  auto id_below(const char* what, std::size_t count, AnyId& out) {
    return [what, count, &out](JsonValue value) -> Status {
      if (value.is_null()) return {};
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t index, value.integer());
      if (index < 0 || static_cast<std::size_t>(index) >= count) {
        return value.error("there is no " + std::string(what) + " " + std::to_string(index));
      }
      out = AnyId(static_cast<std::size_t>(index));
      return {};
    };
  }

  Status read_var(JsonValue value) {
    Variable var;
    Shape local;
    bool has_full = false;
    const auto full = [&](JsonValue list) {
      has_full = true;
      return integers(var.shape, -1)(list);
    };
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required("name", var.name)
            .optional_with("full_shape", full)
            .optional_with("local_shape", integers(local, -1))
            .optional_with("dtype", named("data type", &data_type_named, var.type))
            .optional_with("mesh", id_below("mesh", spec_.meshes.size(), var.mesh))
            .optional_with("dims_mapping", integers(var.dims_mapping, -1))
            .optional_with("partial", partial_axes(var.partial))
            .optional_with("block", id_below("block", spec_.block_parents.size() + 1, var.block))
            .optional("is_feed", var.is_feed)
            .optional("is_parameter", var.is_parameter)
            .optional("is_local", var.is_local)
            .finish());
    if (var.mesh.valid()) {
      const DistAttr attr{spec_.meshes[var.mesh.index()], var.dims_mapping, var.partial};
      const std::size_t dims = has_full ? var.shape.size() : local.size();
      SHARDWRIGHT_RETURN_IF_ERROR(at(check(attr, dims), value));
      SHARDWRIGHT_RETURN_IF_ERROR(settle_shape(value, attr, local, has_full, var));
    } else if (!has_full) {
      var.shape = local;
    }
    if (!names_.emplace(var.name, VarId(spec_.vars.size())).second) {
      return value.error("two variables are called \"" + var.name + "\"");
    }
    spec_.vars.push_back(std::move(var));
    return {};
  }

  // The whole shape follows from a share of it; where both are given they must agree.
  static Status settle_shape(JsonValue value, const DistAttr& attr, const Shape& local,
                             bool has_full, Variable& var) {
    if (!has_full) var.shape = local;
    for (std::size_t dim = 0; dim < local.size() && dim < var.shape.size(); ++dim) {
      const std::int64_t pieces = var.is_local ? 1 : attr.splits(dim);
      if (!has_full) {
        if (local[dim] > 0) var.shape[dim] = local[dim] * pieces;
      } else if (var.shape[dim] >= 0 && local[dim] >= 0 &&
                 (local[dim] < var.shape[dim] / pieces ||
                  local[dim] > (var.shape[dim] + pieces - 1) / pieces)) {
        return value.error("local_shape is not full_shape divided by the mesh");
      }
    }
    if (has_full && !local.empty() && local.size() != var.shape.size()) {
      return value.error("local_shape and full_shape have different dimensions");
    }
    return {};
  }

  auto variable(VarId& out) {
    return [this, &out](JsonValue value) -> Status {
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view name, value.string());
      const auto found = names_.find(std::string(name));
      if (found == names_.end()) {
        return value.error("there is no variable \"" + std::string(name) + "\"");
      }
      out = found->second;
      return {};
    };
  }

  auto arguments(std::vector<Argument>& out) {
    return [this, &out](JsonValue value) -> Status {
      if (!value.is_array()) return value.expected("a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        Argument argument;
        int position = static_cast<int>(i);
        SHARDWRIGHT_RETURN_IF_ERROR(
            ObjectReader(value[i])
                .required_with("var", variable(argument.var))
                .optional("arg", position)
                .optional_with("dims_mapping", integers(argument.dims_mapping, -1))
                .finish());
        argument.position = position;
        out.push_back(argument);
      }
      return {};
    };
  }

  Status read_op(JsonValue value) {
    Operation op;
    BlockId block(0);
    op.number = static_cast<std::int64_t>(spec_.ops.size());
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .optional("id", op.number)
            .required("type", op.type)
            .optional_with("mesh", id_below("mesh", spec_.meshes.size(), op.mesh))
            .optional_with("role", named("role", &op_role_named, op.role))
            .optional_with("inputs", arguments(op.inputs))
            .optional_with("outputs", arguments(op.outputs))
            .optional_with("block", id_below("block", spec_.block_parents.size() + 1, block))
            .optional_with("sub_block",
                           id_below("block", spec_.block_parents.size() + 1, op.sub_block))
            .optional_with("condition", variable(op.condition))
            .optional("is_gradient_clip", op.is_gradient_clip)
            .optional("is_inserted", op.is_inserted)
            .ignore({"attributes"})
            .finish());
    spec_.ops.emplace_back(block, std::move(op));
    return {};
  }

  ProgramSpec spec_;
  std::unordered_map<std::string, VarId> names_;

 public:
  Result<ProgramDocument> read(JsonValue value) {
    std::vector<Rank> ranks;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .optional("name", spec_.name)
            .optional_with("ranks", [&](JsonValue list) { return read_ranks(list, ranks); })
            .required_with("meshes", each(&ProgramReader::read_mesh))
            .optional_with("blocks", each(&ProgramReader::read_block))
            .required_with("vars", each(&ProgramReader::read_var))
            .required_with("ops", each(&ProgramReader::read_op))
            .ignore({"expected", "note"})
            .finish());
    Result<Program> program = Program::make(std::move(spec_));
    if (!program.ok()) {
      return invalid_input(value.pointer() + program.error().where, program.error().message);
    }
    return ProgramDocument{std::move(program).value(), std::move(ranks)};
  }
};

}  // namespace

Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  if (!root.is_array()) return root.expected("a list of cases");
  std::vector<ReshardCaseDocument> cases(root.size());
  for (std::size_t i = 0; i < root.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_case(root[i], cases[i]));
  }
  return cases;
}

Result<std::vector<ProgramDocument>> read_programs(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  std::vector<ProgramDocument> programs;
  const auto read = [&](JsonValue value) -> Status {
    Result<ProgramDocument> program = ProgramReader().read(value);
    if (!program.ok()) return program.error();
    programs.push_back(std::move(program).value());
    return {};
  };
  if (!root.is_object() || !root.find("programs")) {
    SHARDWRIGHT_RETURN_IF_ERROR(read(root));
    return programs;
  }
  const auto read_all = [&](JsonValue list) -> Status {
    for (std::size_t i = 0; i < list.size(); ++i) {
      SHARDWRIGHT_RETURN_IF_ERROR(read(list[i]));
    }
    return {};
  };
  SHARDWRIGHT_RETURN_IF_ERROR(
      ObjectReader(root).required_with("programs", read_all).ignore({"expected", "note"}).finish());
  return programs;
}

}  // namespace shardwright
