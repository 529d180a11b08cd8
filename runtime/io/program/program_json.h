// Reads reshard cases and programs, and writes resharding steps and programs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "runtime/program/reshard_tensor.h"

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
