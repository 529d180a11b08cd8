// Writes every rank's program with its edits and counters.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/program_values_json.h"
#include "runtime/program/communication_report.h"

namespace shardwright {
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

// What compat mode reproduces of Paddle's defects.
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
