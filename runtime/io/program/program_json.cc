#include "runtime/io/program/program_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/program_parts_json.h"

namespace shardwright {
namespace {

using namespace internal;
using namespace program;

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 62;  // leaves numbers for inserted operators

Status at(const Status& status, JsonValue value) {
  if (status.ok()) return {};
  return invalid_input(value.pointer() + status.error().where, status.error().message);
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
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        ProcessMesh mesh, make_mesh(value, "shape", "ids", std::move(shape), std::move(ids)));
    spec_.meshes.push_back(std::move(mesh));
    return {};
  }

  // Reads {"parent": index}. The file does not list block 0.
  Status read_block(JsonValue value) {
    std::int64_t parent = 0;
    SHARDWRIGHT_RETURN_IF_ERROR(ObjectReader(value).required("parent", parent).finish());
    if (parent < 0 || parent > static_cast<std::int64_t>(spec_.block_parents.size())) {
      return invalid_input(value.pointer() + "/parent",
                           "the parent of block " + std::to_string(spec_.block_parents.size() + 1) +
                               " must be an earlier block, not " + std::to_string(parent));
    }
    spec_.block_parents.emplace_back(static_cast<std::size_t>(parent));
    return {};
  }

  // Reads {"ranks", "point_to_point", "ring_id"}. Rings are numbered by place unless given.
  Status read_group(JsonValue value) {
    std::vector<Rank> ranks;
    ProcessGroup group;
    group.ring_id = static_cast<std::int64_t>(spec_.communication.groups.size());
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required_with("ranks", [&](JsonValue list) { return read_ranks(list, ranks); })
            .optional("point_to_point", group.is_point_to_point)
            .optional("ring_id", group.ring_id)
            .finish());
    if (group.ring_id < 0 || group.ring_id > kMaxNumber) {
      return value.find("ring_id")->error("a ring is between 0 and 2^62");
    }
    group.ranks = SharedArray<Rank>(ranks);
    next_ring_id_ = std::max(next_ring_id_, group.ring_id + 1);
    spec_.communication.groups.push_back(std::move(group));
    return {};
  }

  template <class AnyId>
  auto id_below(const char* what, std::size_t count, AnyId& out) {
    return [what, count, &out](JsonValue value) -> Status {
      if (value.is_null()) return {};
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t index, value.integer());
      if (index < 0 || static_cast<std::size_t>(index) >= count) {
        return value.error("there is no " + std::string(what) + " " + std::to_string(index) +
                           "; there are " + std::to_string(count));
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
      return read_var_extents(list, var.shape);
    };
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .required("name", var.name)
            .optional_with("full_shape", full)
            .optional_with("local_shape", [&](JsonValue v) { return read_var_extents(v, local); })
            .optional_with("dtype", named("data type", data_type_names(), var.type))
            .optional_with("mesh", id_below("mesh", spec_.meshes.size(), var.mesh))
            .optional_with("dims_mapping",
                           [&](JsonValue v) { return read_mapping(v, var.dims_mapping); })
            .optional_with("partial", [&](JsonValue v) { return read_partial(v, var.partial); })
            .optional_with("block", id_below("block", spec_.block_parents.size() + 1, var.block))
            .optional("lod_level", var.lod_level)
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
      return invalid_input(value.pointer() + "/name",
                           "two variables are called \"" + var.name + "\"");
    }
    spec_.vars.push_back(std::move(var));
    return {};
  }

  // Computes the full shape from the local shape. If the file gives both, checks that they agree.
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
        return invalid_input(value.pointer() + "/local_shape/" + std::to_string(dim),
                             std::to_string(local[dim]) + " is not the full extent " +
                                 std::to_string(var.shape[dim]) + " in " + std::to_string(pieces) +
                                 " pieces");
      }
    }
    if (has_full && !local.empty() && local.size() != var.shape.size()) {
      return invalid_input(value.pointer() + "/local_shape",
                           "has another number of dimensions than full_shape");
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
                .optional_with("dims_mapping",
                               [&](JsonValue v) { return read_mapping(v, argument.dims_mapping); })
                .finish());
        if (position < 0) return value[i].find("arg")->error("a position is not negative");
        argument.position = position;
        out.push_back(argument);
      }
      return {};
    };
  }

  // Any name: placements alone say what is inserted.
  static Status read_op_type(JsonValue value, std::string& type) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(type, value.string());
    return type.empty() ? value.error("an operator's type is its name, such as \"matmul_v2\"")
                        : Status();
  }

  Status read_op(JsonValue value) {
    Operation op;
    BlockId block(0);
    op.number = static_cast<std::int64_t>(spec_.ops.size());
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .optional("id", op.number)
            .required_with("type", [&](JsonValue v) { return read_op_type(v, op.type); })
            .optional_with("mesh", id_below("mesh", spec_.meshes.size(), op.mesh))
            .optional_with("role", named("role", op_role_names(), op.role))
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
    if (op.number < 0 || op.number > kMaxNumber) {
      return value.find("id")->error("an id is between 0 and 2^62");
    }
    if (!numbers_.insert(op.number).second) {
      return value.error("two operators have the id " + std::to_string(op.number));
    }
    spec_.ops.emplace_back(block, std::move(op));
    return {};
  }

  // Checks that the ranks to run are distinct and that a mesh of the program has each of them.
  Status check_ranks(JsonValue program, const std::vector<Rank>& ranks) const {
    if (const auto list = program.find("ranks"); list && list->is_array() && ranks.empty())
      return list->error("has no rank; leave it out for the programs of all ranks");
    std::unordered_set<Rank> seen;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const JsonValue rank = (*program.find("ranks"))[i];
      if (!seen.insert(ranks[i]).second) {
        return rank.error("rank " + std::to_string(ranks[i]) + " occurs twice");
      }
      const bool known =
          std::any_of(spec_.meshes.begin(), spec_.meshes.end(),
                      [&](const ProcessMesh& mesh) { return mesh.contains(ranks[i]); });
      if (!known) return rank.error("no mesh has rank " + std::to_string(ranks[i]));
    }
    return {};
  }

  ProgramSpec spec_;
  std::unordered_map<std::string, VarId> names_;
  std::unordered_set<std::int64_t> numbers_;
  std::int64_t next_ring_id_ = 0;  // above the rings that were read

 public:
  Result<ProgramDocument> read(JsonValue value) {
    std::vector<Rank> ranks;
    std::optional<std::int64_t> next_ring_id;
    SHARDWRIGHT_RETURN_IF_ERROR(
        ObjectReader(value)
            .optional("name", spec_.name)
            .optional_with("ranks", [&](JsonValue list) { return read_ranks(list, ranks); })
            .required_with("meshes", each(&ProgramReader::read_mesh))
            .optional_with("groups", each(&ProgramReader::read_group))
            .optional("next_ring_id", next_ring_id)
            .optional("recv_has_input", spec_.communication.recv_has_input)
            .optional_with("blocks", each(&ProgramReader::read_block))
            .required_with("vars", each(&ProgramReader::read_var))
            .required_with("ops", each(&ProgramReader::read_op))
            .ignore({"expected", "note"})
            .finish());
    SHARDWRIGHT_RETURN_IF_ERROR(check_ranks(value, ranks));
    if (next_ring_id.value_or(0) > kMaxNumber) {
      return value.find("next_ring_id")->error("a ring is between 0 and 2^62");
    }
    spec_.communication.next_ring_id = next_ring_id.value_or(next_ring_id_);
    Result<Program> program = Program::make(std::move(spec_));
    if (!program.ok()) {
      return invalid_input(value.pointer() + program.error().where, program.error().message);
    }
    return ProgramDocument{std::move(program).value(), std::move(ranks), value.pointer()};
  }
};

}  // namespace

Result<std::vector<ProgramDocument>> read_programs(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kProgram));
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
    if (!list.is_array()) return list.expected("a list of programs");
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
