// Files of reshard cases and of programs, and their answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/status.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/text_sink.h"
#include "runtime/program/reshard_tensor.h"
#include "search/program/reshard_program.h"

namespace shardwright::internal {

template <class List>
void write_list(JsonWriter& json, const List& list) {
  json.begin_array();
  for (const auto& value : list)
    json.value(static_cast<std::int64_t>(value));
  json.end_array();
}

template <class List>
void member_list(JsonWriter& json, std::string_view key, const List& list) {
  json.key(key);
  write_list(json, list);
}

void describe_counters(JsonMembers& members, const program::ReshardCounters& counters);

// Describes `shape`, the positive extents of a tensor.
void describe_extents(JsonMembers& members, program::Shape& extents);

// Describes a list with a mesh axis or -1 for each dimension. Does not check that the axis exists.
JsonMembers& describe_mapping(JsonMembers& members, std::string_view key,
                              program::DimsMapping& mapping, bool is_required);

// Describes `partial`, the pending reductions by mesh axis, such as {"0": "sum"}.
JsonMembers& describe_partial(JsonMembers& members, program::PartialAxes& partial);

JsonMembers& describe_data_type(JsonMembers& members, program::DataType& type);

Status read_ranks(JsonValue value, std::vector<program::Rank>& out);
JsonShape ranks_shape();

// The members of a mesh in a file.
struct MeshForm {
  std::vector<std::int64_t> shape;
  std::vector<program::Rank> ids;
};
void describe_mesh(JsonMembers& members, std::string_view shape_key, MeshForm& mesh);

// Makes a mesh. Errors are located at `shape_key` or `ids_key`, members of `value`.
Result<program::ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key,
                                       std::string_view ids_key, MeshForm form);

}  // namespace shardwright::internal

namespace shardwright {

// A case of a file. If the file gives one mesh and two mappings, `on_mesh` is true, and the answer
// has steps on that mesh.
struct ReshardCaseDocument {
  ReshardCase request;
  bool on_mesh = false;
};

// Reads a list of {shape, dtype, src, dst} or {mesh, shape, src, src_partial, dst, dst_partial}.
// Ignores the keys of answers. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text);

// A program, and the ranks for which to reshard it.
struct ProgramDocument {
  program::Program program;
  std::vector<program::Rank> ranks;
  std::string place;  // JSON pointer of the program in its file
};

// Reads {"programs": [...]} or one program. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ProgramDocument>> read_programs(std::string_view text);

// Writes a list of answers, in the order of the cases.
void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink);

// Writes every rank's new program with its edits and counters.
void write_programs(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& results,
                    const TextSink& sink);

JsonShape reshard_shape();
JsonShape reshard_answer_shape();
JsonShape program_shape();
JsonShape program_answer_shape();

}  // namespace shardwright
