// JSON of the program domain: cases and programs in, sequences and programs out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "runtime/io/text_sink.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright {

// A case as a file has it. `on_mesh`: written as one mesh with two mappings, and answered with mesh
// steps.
struct ReshardCaseDocument {
  ReshardCase request;
  bool on_mesh = false;
};

// A list of {shape, dtype, src, dst}, or of {mesh, shape, src, src_partial, dst, dst_partial}; keys
// of recorded answers are passed over. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text);

// A program, the ranks that the file asks for, and where in the file it stands.
struct ProgramDocument {
  program::Program program;
  std::vector<program::Rank> ranks;
  std::string place;  // JSON pointer
};

// {"programs": [...]} or one program. Errors: kInvalidInput with a JSON pointer.
Result<std::vector<ProgramDocument>> read_programs(std::string_view text);

// The list of answers, in the order of the cases.
void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink);

// Every rank's new program with its edits and counters.
void write_programs(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& results,
                    const TextSink& sink);

}  // namespace shardwright
