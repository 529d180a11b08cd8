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

constexpr std::int64_t kMaxRank = std::int64_t{1} << 30;

Status read_dims(JsonValue value, std::vector<std::int64_t>& list) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, list));
  if (list.size() <= kMaxDims) return {};
  return value.error("a tensor has at most " + std::to_string(kMaxDims) +
                     " dimensions, this one has " + std::to_string(list.size()));
}

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

}  // namespace

void describe_extents(JsonMembers& members, Shape& extents) {
  members.required_with(
      "shape", [&](JsonValue value) { return read_extents(value, extents); },
      [] { return json::list(json::integer().from(1)).or_null().says("Of the whole tensor."); });
}

namespace {

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
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t due,
                                 read_choice(value[i], "reduction", reduction_names()));
    const auto axis = static_cast<std::size_t>(key[0] - '0');
    if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
    out[axis] = static_cast<Reduction>(due);
  }
  return {};
}

}  // namespace

JsonMembers& describe_mapping(JsonMembers& members, std::string_view key, DimsMapping& mapping,
                              bool is_required) {
  const auto read = [&](JsonValue value) { return read_mapping(value, mapping); };
  const auto shape = [] {
    return json::list(json::integer().from(-1).up_to(kMaxMeshAxes - 1))
        .or_null()
        .says("For each dimension the mesh axis that splits it, or -1.")
        .named("mapping");
  };
  return is_required ? members.required_with(key, read, shape)
                     : members.optional_with(key, read, shape);
}

JsonMembers& describe_partial(JsonMembers& members, PartialAxes& partial) {
  return members.optional_with(
      "partial", [&](JsonValue value) { return read_partial(value, partial); },
      [] {
        return json::by_name(json::one_word(reduction_names()))
            .like("^[0-" + std::to_string(kMaxMeshAxes - 1) + "]$")
            .or_null()
            .says("The reduction that is due, by mesh axis.")
            .named("partial");
      });
}

JsonMembers& describe_data_type(JsonMembers& members, DataType& type) {
  return members.word("dtype", type, "data type", data_type_names());
}

Status read_ranks(JsonValue value, std::vector<Rank>& out) {
  std::vector<std::int64_t> ids;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, ids));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] > kMaxRank) {
      return value[i].error("a rank is between 0 and 2^30, not " + std::to_string(ids[i]));
    }
    out.push_back(static_cast<Rank>(ids[i]));
  }
  return {};
}

JsonShape ranks_shape() { return json::list(json::integer().from(0).up_to(kMaxRank)).or_null(); }

void describe_mesh(JsonMembers& members, std::string_view shape_key, MeshForm& mesh) {
  members.required(shape_key, mesh.shape, "Ranks along each axis.")
      .required_with(
          "ids", [&](JsonValue value) { return read_ranks(value, mesh.ids); },
          [] { return ranks_shape().says("The ranks, in row-major order."); });
}

void describe_counters(JsonMembers& members, const ReshardCounters& counters) {
  members.shown("planner_calls", counters.planner_calls)
      .shown("edits", counters.edits)
      .shown("inserted_ops", counters.inserted_ops)
      .shown("commits", counters.commits)
      .shown("mirror_syncs", counters.mirror_syncs)
      .shown("items_scanned", counters.items_scanned);
}

Result<ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key, std::string_view ids_key,
                              MeshForm form) {
  Result<ProcessMesh> mesh = ProcessMesh::make(std::move(form.shape), std::move(form.ids));
  if (mesh.ok()) return mesh;
  const std::string_view key = mesh.error().where == "/shape" ? shape_key : ids_key;
  return invalid_input(value.pointer() + "/" + std::string(key), mesh.error().message);
}

}  // namespace shardwright::internal

namespace shardwright {

namespace {

using namespace internal;
using namespace program;

constexpr std::int64_t kMaxNumber = std::int64_t{1} << 62;  // inserted operators get larger ones

Status at(const Status& status, JsonValue value) {
  if (status.ok()) return {};
  return invalid_input(value.pointer() + status.error().where, status.error().message);
}

// Extents may be 0; the first may be -1, for the batch.
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

JsonShape var_extents_shape() {
  return json::list(json::integer().from(-1)).or_null().named("extents");
}

// Reads a number from 0 to kMaxNumber. Any other number gives the error message `text`.
auto number_below_limit(std::string_view text, std::int64_t& out) {
  return [text, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(out, value.integer());
    return out < 0 || out > kMaxNumber ? value.error(std::string(text)) : Status();
  };
}

// Reads one program, or describes its shape. For each list of the file, describe_...() names the
// members of an element, and add() checks and stores an element.
class ProgramReader {
 private:
  struct BlockForm {
    std::int64_t parent = 0;
  };
  struct VarForm {
    Variable var;
    Shape local;
    bool has_full = false;
  };
  struct OpForm {
    Operation op;
    BlockId block{0};
  };

  template <class Element>
  auto each(void (ProgramReader::*describe_element)(JsonMembers&, Element&)) {
    return [this, describe_element](JsonValue value) -> Status {
      if (!value.is_array()) return value.expected("a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        Element element;
        SHARDWRIGHT_RETURN_IF_ERROR(read_by(
            value[i], [&](JsonMembers& members) { (this->*describe_element)(members, element); }));
        SHARDWRIGHT_RETURN_IF_ERROR(add(value[i], std::move(element)));
      }
      return {};
    };
  }

  template <class Element>
  auto shape_of_each(void (ProgramReader::*describe_element)(JsonMembers&, Element&)) {
    return [this, describe_element] {
      return json::list(shape_by([&](JsonMembers& members) {
        Element sample;
        (this->*describe_element)(members, sample);
      }));
    };
  }

  void describe_mesh(JsonMembers& members, MeshForm& mesh) {
    internal::describe_mesh(members, "shape", mesh);
  }

  Status add(JsonValue value, MeshForm form) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(ProcessMesh mesh,
                                 make_mesh(value, "shape", "ids", std::move(form)));
    spec_.meshes.push_back(std::move(mesh));
    return {};
  }

  void describe_block(JsonMembers& members, BlockForm& block) {
    members.required("parent", block.parent, "An earlier block. The list begins with block 1.")
        .from(0);
  }

  Status add(JsonValue value, BlockForm block) {
    if (block.parent < 0 || block.parent > static_cast<std::int64_t>(spec_.block_parents.size())) {
      return invalid_input(value.pointer() + "/parent",
                           "the parent of block " + std::to_string(spec_.block_parents.size() + 1) +
                               " must be an earlier block, not " + std::to_string(block.parent));
    }
    spec_.block_parents.emplace_back(static_cast<std::size_t>(block.parent));
    return {};
  }

  void describe_group(JsonMembers& members, ProcessGroup& group) {
    group.ring_id = static_cast<std::int64_t>(spec_.communication.groups.size());
    const auto read = [&](JsonValue value) -> Status {
      std::vector<Rank> ranks;
      SHARDWRIGHT_RETURN_IF_ERROR(read_ranks(value, ranks));
      group.ranks = SharedArray<Rank>(ranks);
      return {};
    };
    members.required_with("ranks", read, ranks_shape)
        .optional("point_to_point", group.is_point_to_point)
        .optional_with("ring_id", number_below_limit("a ring is between 0 and 2^62", group.ring_id),
                       [] { return json::natural().says("The place in the list if left out."); });
  }

  Status add(JsonValue, ProcessGroup group) {
    next_ring_id_ = std::max(next_ring_id_, group.ring_id + 1);
    spec_.communication.groups.push_back(std::move(group));
    return {};
  }

  template <class AnyId>
  JsonMembers& describe_id(JsonMembers& members, std::string_view key, std::string_view what,
                           std::size_t count, AnyId& out) {
    const auto read = [&](JsonValue value) -> Status {
      if (value.is_null()) return {};
      SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t index, value.integer());
      if (index < 0 || static_cast<std::size_t>(index) >= count) {
        return value.error("there is no " + std::string(what) + " " + std::to_string(index) +
                           "; there are " + std::to_string(count));
      }
      out = AnyId(static_cast<std::size_t>(index));
      return {};
    };
    return members.optional_with(key, read, [&] {
      return json::natural().or_null().says("The number of a " + std::string(what) + ".");
    });
  }
  JsonMembers& describe_mesh_id(JsonMembers& members, MeshId& out) {
    return describe_id(members, "mesh", "mesh", spec_.meshes.size(), out);
  }
  JsonMembers& describe_block_id(JsonMembers& members, std::string_view key, BlockId& out) {
    return describe_id(members, key, "block", spec_.block_parents.size() + 1, out);
  }

  void describe_var(JsonMembers& members, VarForm& form) {
    Variable& var = form.var;
    const auto read_full = [&](JsonValue value) {
      form.has_full = true;
      return read_var_extents(value, var.shape);
    };
    members.required("name", var.name)
        .optional_with("full_shape", read_full, var_extents_shape)
        .optional_with(
            "local_shape", [&](JsonValue value) { return read_var_extents(value, form.local); },
            var_extents_shape);
    describe_data_type(members, var.type);
    describe_mesh_id(members, var.mesh);
    describe_mapping(members, "dims_mapping", var.dims_mapping, false);
    describe_partial(members, var.partial);
    describe_block_id(members, "block", var.block)
        .optional("lod_level", var.lod_level, "The nesting depth of sequences.")
        .optional("is_feed", var.is_feed)
        .optional("is_parameter", var.is_parameter)
        .optional("is_local", var.is_local, "Whether the shape is that of the part of one rank.");
  }

  Status add(JsonValue value, VarForm form) {
    Variable& var = form.var;
    const Shape& local = form.local;
    const bool has_full = form.has_full;
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

  // Computes the full shape from the local shape, or checks that both agree if the file has both.
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

  void describe_argument(JsonMembers& members, Argument& argument) {
    members.required_with("var", variable(argument.var), [] { return json::text(); })
        .optional("arg", argument.position, "The place in the list if left out.")
        .from(0);
    describe_mapping(members, "dims_mapping", argument.dims_mapping, false);
  }

  JsonMembers& describe_arguments(JsonMembers& members, std::string_view key,
                                  std::vector<Argument>& out) {
    const auto read = [&](JsonValue value) -> Status {
      if (!value.is_array()) return value.expected("a list");
      for (std::size_t i = 0; i < value.size(); ++i) {
        Argument argument;
        argument.position = static_cast<std::int32_t>(i);
        SHARDWRIGHT_RETURN_IF_ERROR(
            read_by(value[i], [&](JsonMembers& inner) { describe_argument(inner, argument); }));
        if (argument.position < 0) return value[i].find("arg")->error("a position is not negative");
        out.push_back(argument);
      }
      return {};
    };
    return members.optional_with(key, read, [this] {
      return shape_of_each(&ProgramReader::describe_argument)().named("arguments");
    });
  }

  // Accepts any name, since insertions depend only on placements.
  static Status read_op_type(JsonValue value, std::string& type) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(type, value.string());
    return type.empty() ? value.error("an operator's type is its name, such as \"matmul_v2\"")
                        : Status();
  }

  void describe_op(JsonMembers& members, OpForm& form) {
    Operation& op = form.op;
    op.number = static_cast<std::int64_t>(spec_.ops.size());
    members
        .optional_with("id", number_below_limit("an id is between 0 and 2^62", op.number),
                       [] { return json::natural().says("The place in the list if left out."); })
        .required_with(
            "type", [&](JsonValue value) { return read_op_type(value, op.type); },
            [] { return json::text().like("[\\s\\S]").says("Such as matmul_v2."); });
    describe_mesh_id(members, op.mesh).word("role", op.role, "role", op_role_names());
    describe_arguments(members, "inputs", op.inputs);
    describe_arguments(members, "outputs", op.outputs);
    describe_block_id(members, "block", form.block);
    describe_block_id(members, "sub_block", op.sub_block)
        .optional_with("condition", variable(op.condition), [] { return json::text(); })
        .optional("is_gradient_clip", op.is_gradient_clip)
        .optional("is_inserted", op.is_inserted)
        .ignore({"attributes"});
  }

  Status add(JsonValue value, OpForm form) {
    if (!numbers_.insert(form.op.number).second) {
      return value.error("two operators have the id " + std::to_string(form.op.number));
    }
    spec_.ops.emplace_back(form.block, std::move(form.op));
    return {};
  }

  // Checks that the requested ranks are distinct and that a mesh of the program has each.
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
  std::int64_t next_ring_id_ = 0;  // above all rings that were read
  std::vector<Rank> ranks_;
  std::optional<std::int64_t> given_ring_id_;

 public:
  void describe_program(JsonMembers& members) {
    using Self = ProgramReader;
    members.optional("name", spec_.name)
        .optional_with(
            "ranks", [&](JsonValue value) { return read_ranks(value, ranks_); },
            [] { return ranks_shape().from(1).says("To reshard for; all if left out."); })
        .required_with("meshes", each(&Self::describe_mesh), shape_of_each(&Self::describe_mesh))
        .optional_with("groups", each(&Self::describe_group), shape_of_each(&Self::describe_group))
        .optional("next_ring_id", given_ring_id_, "The ring of the next new group.")
        .from(0)
        .optional("recv_has_input", spec_.communication.recv_has_input)
        .optional_with("blocks", each(&Self::describe_block), shape_of_each(&Self::describe_block))
        .required_with("vars", each(&Self::describe_var), shape_of_each(&Self::describe_var))
        .required_with("ops", each(&Self::describe_op), shape_of_each(&Self::describe_op))
        .ignore({"expected", "note"});
  }

  Result<ProgramDocument> read(JsonValue value) {
    SHARDWRIGHT_RETURN_IF_ERROR(
        read_by(value, [&](JsonMembers& members) { describe_program(members); }));
    SHARDWRIGHT_RETURN_IF_ERROR(check_ranks(value, ranks_));
    if (given_ring_id_.value_or(0) > kMaxNumber) {
      return value.find("next_ring_id")->error("a ring is between 0 and 2^62");
    }
    spec_.communication.next_ring_id = given_ring_id_.value_or(next_ring_id_);
    Result<Program> program = Program::make(std::move(spec_));
    if (!program.ok()) {
      return invalid_input(value.pointer() + program.error().where, program.error().message);
    }
    return ProgramDocument{std::move(program).value(), std::move(ranks_), value.pointer()};
  }
};

template <class Read>
void describe_programs(JsonMembers& members, const Read& read) {
  const auto shape = [] { return json::list(json::defined("program")); };
  members.required_with("programs", read, shape).ignore({"expected", "note"});
}

JsonShape one_program_shape() {
  ProgramReader reader;
  return shape_by([&](JsonMembers& members) { reader.describe_program(members); }).named("program");
}

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
      read_by(root, [&](JsonMembers& members) { describe_programs(members, read_all); }));
  return programs;
}

JsonShape program_shape() {
  const auto read_none = [](JsonValue) { return Status(); };
  return json::one_of({one_program_shape(), shape_by([&](JsonMembers& members) {
                         describe_programs(members, read_none);
                       })})
      .says("A program whose tensors have placements, or several. `program apply` reads it.");
}

namespace {

// Writes a program with names in place of ids. Numbers the operators that were not in the file.
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

  // Writes the process groups; a ring id only if it is not the group's position.
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

  // Writes the members that a program without groups lacks.
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

// Describes a plan of Paddle that the simulation proved wrong.
void describe_wrong(JsonMembers& members, const Program& program, const WrongPlan& plan) {
  const auto write_var = [&](JsonWriter& json) { json.value(program.var(plan.var).name); };
  members
      .written(
          "op", [&](JsonWriter& json) { json.value(program.op(plan.op).number); }, json::integer)
      .written_if(plan.is_output, "output", write_var, json::text)
      .written_if(!plan.is_output, "input", write_var, json::text)
      .shown("problem", plan.problem);
}

JsonShape listing_shape() {
  const JsonShape names = json::list(json::text());
  return json::list(json::tuple({json::text(), names, names}))
      .says("Type, inputs and outputs of each operator.");
}

JsonShape edits_shape() {
  return json::list(json::object({{"edit", json::text(), true},
                                  {"anchor", json::integer().says("An operator.")},
                                  {"op", json::integer()},
                                  {"type", json::text()},
                                  {"old", json::text().says("A variable.")},
                                  {"var", json::text()}}));
}

JsonShape written_groups_shape() {
  return json::list(json::object({{"ranks", json::list(json::integer()), true},
                                  {"point_to_point", json::boolean(), true},
                                  {"ring_id", json::integer()}}));
}

void describe_rank(JsonMembers& members, const RankProgram& rank, const ReportedRankLoad& load) {
  std::optional<ProgramWriter> writer;
  const auto write_listing = [&](JsonWriter& json) {
    writer.emplace(json, rank.program);
    writer->write_listing();
  };
  members.shown("rank", rank.rank)
      .object(
          "counters", [&](JsonMembers& inner) { describe_counters(inner, rank.counters); }, {},
          true)
      .shown("sent_bytes", load.sent)
      .shown("received_bytes", load.received)
      .shown("communication_us", load.communicating_us, "Under the cost model.")
      .written("ops", write_listing, listing_shape)
      .written(
          "edits", [&](JsonWriter&) { writer->write_edits(rank.edits); }, edits_shape)
      .written(
          "program", [&](JsonWriter&) { writer->write_program({rank.rank}); }, one_program_shape)
      .written_if(
          rank.startup.has_value(), "startup",
          [&](JsonWriter& json) { ProgramWriter(json, *rank.startup).write_program({rank.rank}); },
          one_program_shape);
}

void describe_result(JsonMembers& members, const Program& program, const ReshardResult& result) {
  const CommunicationReport communication = communication_of(result);
  const auto write_groups = [&](JsonWriter& json) {
    if (result.ranks.empty()) {
      json.begin_array().end_array();
    } else {
      ProgramWriter(json, result.ranks.front().program).write_groups();
    }
  };
  members
      .written(
          "name", [&](JsonWriter& json) { json.value(program.name()); }, json::text)
      .shown("requests", result.requests, "Inputs that must be resharded.")
      .shown("plans", result.plans, "Distinct plans.")
      .rows_by(
          "wrong", result.wrong,
          [&](JsonMembers& inner, const WrongPlan& plan) { describe_wrong(inner, program, plan); },
          true)
      .written("groups", write_groups, written_groups_shape)
      .rows_by("ranks", result.ranks, [&](JsonMembers& inner, const RankProgram& rank) {
        describe_rank(inner, rank,
                      result.ranks.empty() ? ReportedRankLoad() : communication.load_of(rank.rank));
      });
}

using ProgramResult = std::pair<ProgramDocument, ReshardResult>;

void describe_results(JsonMembers& members, const std::vector<ProgramResult>& results) {
  members.rows_by("programs", results, [](JsonMembers& inner, const ProgramResult& one) {
    describe_result(inner, one.first.program, one.second);
  });
}

}  // namespace

void write_programs(const std::vector<ProgramResult>& results, const TextSink& sink) {
  JsonWriter json(sink);
  write_by(json, [&](JsonMembers& members) { describe_results(members, results); });
  json.finish();
}

JsonShape program_answer_shape() {
  return shape_by([](JsonMembers& members) { describe_results(members, {}); })
      .says("What `program apply` answers.");
}

}  // namespace shardwright
