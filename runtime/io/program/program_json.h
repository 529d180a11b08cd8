// Writes the values that answers to reshard cases and programs have in common.
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

inline void write_counters(JsonWriter& json, const program::ReshardCounters& counters) {
  json.begin_object()
      .member("planner_calls", counters.planner_calls)
      .member("edits", counters.edits)
      .member("inserted_ops", counters.inserted_ops)
      .member("commits", counters.commits)
      .member("mirror_syncs", counters.mirror_syncs)
      .member("items_scanned", counters.items_scanned)
      .end_object();
}

// Returns a function that reads one of `names`; name i stands for value i of the enumeration.
template <class Enum>
auto named(std::string_view what, std::span<const std::string_view> names, Enum& out) {
  return [what, names, &out](JsonValue value) -> Status {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::size_t index, read_choice(value, what, names));
    out = static_cast<Enum>(index);
    return {};
  };
}

// Reads the extents of a tensor of a resharding case, which are positive.
Status read_extents(JsonValue value, program::Shape& out);

// Reads the extents of a variable of a program. An extent may be 0, and the first one -1 for the
// batch.
Status read_var_extents(JsonValue value, program::Shape& out);

// Reads a mesh axis or -1 for each dimension. Does not check that the mesh has the axis.
Status read_mapping(JsonValue value, program::DimsMapping& out);

// Reads {"0": "sum"}: the pending reduction by mesh axis.
Status read_partial(JsonValue value, program::PartialAxes& out);

Status read_ranks(JsonValue value, std::vector<program::Rank>& out);

// Makes a mesh. Errors name `shape_key` or `ids_key`, the members of `value` that were read.
Result<program::ProcessMesh> make_mesh(JsonValue value, std::string_view shape_key,
                                       std::string_view ids_key, std::vector<std::int64_t> shape,
                                       std::vector<program::Rank> ids);

}  // namespace shardwright::internal

namespace shardwright {

// A case of a file. `on_mesh` is true if the file gives one mesh with two mappings; the answer then
// has steps on that mesh.
struct ReshardCaseDocument {
  ReshardCase request;
  bool on_mesh = false;
};

// Reads a list of {shape, dtype, src, dst} or {mesh, shape, src, src_partial, dst, dst_partial}.
// Ignores the keys of answers. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text);

// A program, the ranks to reshard it for, and its place in the file.
struct ProgramDocument {
  program::Program program;
  std::vector<program::Rank> ranks;
  std::string place;  // JSON pointer
};

// Reads {"programs": [...]} or one program. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ProgramDocument>> read_programs(std::string_view text);

// Writes the list of answers, in the order of the cases.
void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink);

// Writes every rank's new program with its edits and counters.
void write_programs(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& results,
                    const TextSink& sink);

}  // namespace shardwright

namespace shardwright::internal {}  // namespace shardwright::internal
