#include "runtime/io/program/program_json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/program/communication_report.h"

namespace shardwright::internal {

using namespace program;

namespace {

Status read_dims(JsonValue value, std::vector<std::int64_t>& list) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, list));
  if (list.size() <= kMaxDims) return {};
  return value.error("a tensor has at most " + std::to_string(kMaxDims) +
                     " dimensions, this one has " + std::to_string(list.size()));
}

}  // namespace

Status read_extents(JsonValue value, Shape& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < 1) {
      return value[dim].error("an extent cannot be " + std::to_string(list[dim]) +
                              "; write the number of elements of the whole tensor");
    }
  }
  out.assign(list.begin(), list.end());
  return {};
}

Status read_var_extents(JsonValue value, Shape& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < 0 && !(dim == 0 && list[dim] == -1)) {
      return value[dim].error("an extent cannot be " + std::to_string(list[dim]) +
                              "; only the first may be -1, for the batch; write the number of "
                              "elements");
    }
  }
  out.assign(list.begin(), list.end());
  return {};
}

Status read_mapping(JsonValue value, DimsMapping& out) {
  std::vector<std::int64_t> list;
  SHARDWRIGHT_RETURN_IF_ERROR(read_dims(value, list));
  out.clear();
  for (std::size_t dim = 0; dim < list.size(); ++dim) {
    if (list[dim] < -1 || list[dim] >= static_cast<std::int64_t>(kMaxMeshAxes)) {
      return value[dim].error("must be a mesh axis or -1, not " + std::to_string(list[dim]));
    }
    out.push_back(static_cast<DimsMapping::value_type>(list[dim]));
  }
  return {};
}

Status read_partial(JsonValue value, PartialAxes& out) {
  if (value.is_null()) return {};
  if (!value.is_object()) return value.expected("an object from mesh axis to reduction");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string_view key = value[i].key();
    if (key.size() != 1 || key[0] < '0' || key[0] >= static_cast<char>('0' + kMaxMeshAxes)) {
      return value[i].error("\"" + std::string(key) + "\" is not the number of a mesh axis");
    }
    Reduction due = Reduction::kNone;
    SHARDWRIGHT_RETURN_IF_ERROR(named("reduction", reduction_names(), due)(value[i]));
    const auto axis = static_cast<std::size_t>(key[0] - '0');
    if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
    out[axis] = due;
  }
  return {};
}

Status read_ranks(JsonValue value, std::vector<Rank>& out) {
  std::vector<std::int64_t> ids;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > (1 << 30)) {
      return value[i].error("a rank is between 0 and 2^30, not " + std::to_string(ids[i]));
    }
    out.push_back(static_cast<Rank>(ids[i]));
  }
  return {};
}

Result<ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key, std::string_view ids_key,
                              std::vector<std::int64_t> shape, std::vector<Rank> ids) {
  Result<ProcessMesh> mesh = ProcessMesh::make(std::move(shape), std::move(ids));
  if (mesh.ok()) return mesh;
  const std::string_view key = mesh.error().where == "/shape" ? shape_key : ids_key;
  return invalid_input(value.pointer() + "/" + std::string(key), mesh.error().message);
}

}  // namespace shardwright::internal

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
        JsonMembers(value)
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
    SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(value).required("parent", parent).finish());
    if (parent < 0 || parent > static_cast<std::int64_t>(spec_.block_parents.size())) {
      return invalid_input(value.pointer() + "/parent",
                           "the parent of block " + std::to_string(spec_.block_parents.size() + 1) +
                               " must be an earlier block, not " + std::to_string(parent));
    }
    spec_.block_parents.emplace_back(static_cast<std::size_t>(parent));
    return {};
  }

  // Reads {"ranks", "point_to_point", "ring_id"}. The default `ring_id` is the index in the list.
  Status read_group(JsonValue value) {
    std::vector<Rank> ranks;
    ProcessGroup group;
    group.ring_id = static_cast<std::int64_t>(spec_.communication.groups.size());
    SHARDWRIGHT_RETURN_IF_ERROR(
        JsonMembers(value)
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
        JsonMembers(value)
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
            JsonMembers(value[i])
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
        JsonMembers(value)
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
        JsonMembers(value)
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
      JsonMembers(root).required_with("programs", read_all).ignore({"expected", "note"}).finish());
  return programs;
}

namespace {

using namespace internal;
using namespace program;

// Writes a program with names instead of ids. Gives numbers to operators that were not in the file.
class ProgramWriter {
 public:
  ProgramWriter(JsonWriter& json, const Program& program) : json_(json), program_(program) {
    for (std::size_t i = 0; i < program.op_capacity(); ++i) {
      if (program.has(OpId(i))) first_new_ = std::max(first_new_, program.op(OpId(i)).number + 1);
    }
  }

  void write_program(const std::vector<Rank>& ranks) {
    json_.begin_object().member("name", program_.name());
    member_list(json_, "ranks", ranks);
    json_.key("meshes").begin_array();
    for (const ProcessMesh& mesh : program_.meshes()) {
      json_.new_line().begin_object();
      member_list(json_, "shape", mesh.shape());
      member_list(json_, "ids", mesh.ids());
      json_.end_object();
    }
    json_.end_array();
    write_communication();
    if (program_.num_blocks() > 1) write_blocks();
    json_.key("vars").begin_array();
    for (std::size_t i = 0; i < program_.var_capacity(); ++i) {
      if (program_.has(VarId(i))) write_var(program_.var(VarId(i)));
    }
    json_.end_array().key("ops").begin_array();
    for_each_op([&](BlockId block, OpId id) { write_op(block, id); });
    json_.end_array().end_object();
  }

  // Writes [type, inputs, outputs] for every operator.
  void write_listing() {
    json_.begin_array();
    for_each_op([&](BlockId, OpId id) {
      const Operation& op = program_.op(id);
      json_.new_line().begin_array().value(op.type);
      for (const auto* arguments : {&op.inputs, &op.outputs}) {
        json_.begin_array();
        for (const Argument& argument : *arguments)
          json_.value(program_.var(argument.var).name);
        json_.end_array();
      }
      json_.end_array();
    });
    json_.end_array();
  }

  void write_edits(const std::vector<Edit>& edits) {
    json_.begin_array();
    for (const Edit& edit : edits) {
      json_.new_line().begin_object().member("edit", to_name(edit.kind));
      if (edit.anchor.valid()) json_.member("anchor", number(edit.anchor));
      if (edit.op.valid()) {
        json_.member("op", number(edit.op));
        if (program_.has(edit.op)) json_.member("type", program_.op(edit.op).type);
      }
      write_var_name("old", edit.old_var);
      write_var_name("var", edit.var);
      json_.end_object();
    }
    json_.end_array();
  }

  // Writes rings that are not numbered by place.
  void write_groups() {
    json_.begin_array();
    std::int64_t place = 0;
    for (const ProcessGroup& group : program_.groups()) {
      json_.new_line().begin_object();
      member_list(json_, "ranks", group.ranks.view());
      json_.member("point_to_point", group.is_point_to_point);
      if (group.ring_id != place++) json_.member("ring_id", group.ring_id);
      json_.end_object();
    }
    json_.end_array();
  }

 private:
  std::int64_t number(OpId id) const {
    if (program_.has(id) && program_.op(id).number >= 0) return program_.op(id).number;
    return first_new_ + static_cast<std::int64_t>(id.index());
  }

  template <class Visit>
  void for_each_op(const Visit& visit) const {
    for (std::size_t i = 0; i < program_.num_blocks(); ++i) {
      const BlockId block(i);
      for (OpId id = program_.block(block).first; id.valid(); id = program_.next(id)) {
        visit(block, id);
      }
    }
  }

  void write_blocks() {
    json_.key("blocks").begin_array();
    for (std::size_t i = 1; i < program_.num_blocks(); ++i) {
      json_.begin_object().member("parent", program_.block(BlockId(i)).parent.value()).end_object();
    }
    json_.end_array();
  }

  // Writes what differs from a program without groups.
  void write_communication() {
    const Communication& communication = program_.communication();
    if (!communication.groups.empty()) {
      json_.key("groups");
      write_groups();
    }
    if (communication.next_ring_id != 0) json_.member("next_ring_id", communication.next_ring_id);
    if (!communication.recv_has_input) json_.member("recv_has_input", false);
  }

  void write_var_name(std::string_view key, VarId id) {
    if (id.valid() && program_.has(id)) json_.member(key, program_.var(id).name);
  }

  void write_var(const Variable& var) {
    json_.new_line().begin_object().member("name", var.name);
    member_list(json_, var.is_local ? "local_shape" : "full_shape", var.shape);
    json_.member("dtype", to_name(var.type));
    if (var.mesh.valid()) {
      json_.member("mesh", var.mesh.value());
      member_list(json_, "dims_mapping", var.dims_mapping);
    }
    if (!var.partial.empty()) {
      json_.key("partial").begin_object();
      for (std::size_t axis = 0; axis < var.partial.size(); ++axis) {
        if (var.partial[axis] == Reduction::kNone) continue;
        json_.member(std::to_string(axis), to_name(var.partial[axis]));
      }
      json_.end_object();
    }
    if (var.block.value() != 0) json_.member("block", var.block.value());
    if (var.lod_level != 0) json_.member("lod_level", var.lod_level);
    if (var.is_feed) json_.member("is_feed", true);
    if (var.is_parameter) json_.member("is_parameter", true);
    if (var.is_local) json_.member("is_local", true);
    json_.end_object();
  }

  void write_arguments(std::string_view key, const std::vector<Argument>& arguments) {
    json_.key(key).begin_array();
    for (const Argument& argument : arguments) {
      json_.begin_object().member("var", program_.var(argument.var).name);
      json_.member("arg", argument.position);
      if (!argument.dims_mapping.empty()) member_list(json_, "dims_mapping", argument.dims_mapping);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_op(BlockId block, OpId id) {
    const Operation& op = program_.op(id);
    json_.new_line().begin_object().member("id", number(id)).member("type", op.type);
    write_arguments("inputs", op.inputs);
    write_arguments("outputs", op.outputs);
    if (op.mesh.valid()) json_.member("mesh", op.mesh.value());
    json_.member("role", to_name(op.role));
    if (block.value() != 0) json_.member("block", block.value());
    if (op.sub_block.valid()) json_.member("sub_block", op.sub_block.value());
    write_var_name("condition", op.condition);
    if (op.is_gradient_clip) json_.member("is_gradient_clip", true);
    if (op.is_inserted) json_.member("is_inserted", true);
    if (!op.attributes.empty()) write_attributes(op.attributes);
    json_.end_object();
  }

  void write_attributes(const Attributes& attributes) {
    json_.key("attributes").begin_object();
    for (const auto& [name, value] : attributes) {
      json_.key(name);
      if (const auto* number_value = std::get_if<std::int64_t>(&value)) json_.value(*number_value);
      if (const auto* text = std::get_if<std::string>(&value)) json_.value(*text);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
        write_list(json_, *list);
    }
    json_.end_object();
  }

  JsonWriter& json_;
  const Program& program_;
  std::int64_t first_new_ = 0;
};

// Writes the plans of Paddle that the simulation refutes.
void write_wrong(JsonWriter& json, const Program& program, const std::vector<WrongPlan>& wrong) {
  if (wrong.empty()) return;
  json.key("wrong").begin_array();
  for (const WrongPlan& plan : wrong) {
    json.new_line().begin_object().member("op", program.op(plan.op).number);
    json.member(plan.is_output ? "output" : "input", program.var(plan.var).name);
    json.member("problem", plan.problem).end_object();
  }
  json.end_array();
}

}  // namespace

void write_programs(const std::vector<std::pair<ProgramDocument, ReshardResult>>& results,
                    const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().key("programs").begin_array();
  for (const auto& [document, result] : results) {
    json.new_line().begin_object().member("name", document.program.name());
    json.member("requests", result.requests).member("plans", result.plans);
    write_wrong(json, document.program, result.wrong);
    json.key("groups");
    if (result.ranks.empty()) {
      json.begin_array().end_array();
    } else {
      ProgramWriter(json, result.ranks.front().program).write_groups();
    }
    json.key("ranks").begin_array();
    const CommunicationReport communication = communication_of(result);
    for (const RankProgram& rank : result.ranks) {
      const ReportedRankLoad& load = communication.load_of(rank.rank);
      ProgramWriter writer(json, rank.program);
      json.new_line().begin_object().member("rank", rank.rank).key("counters");
      write_counters(json, rank.counters);
      json.member("sent_bytes", load.sent)
          .member("received_bytes", load.received)
          .member("communication_us", load.communicating_us);
      json.key("ops");
      writer.write_listing();
      json.key("edits");
      writer.write_edits(rank.edits);
      json.key("program");
      writer.write_program({rank.rank});
      if (rank.startup) {
        json.key("startup");
        ProgramWriter(json, *rank.startup).write_program({rank.rank});
      }
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object().finish();
}

}  // namespace shardwright

namespace shardwright::internal {}  // namespace shardwright::internal
