// Text reports of the program commands.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/program/program_json.h"
#include "runtime/program/reshard_program.h"
#include "runtime/program/reshard_tensor.h"

namespace shardwright::commands {

// Says when inserted operators are synchronised.
inline program::SyncMode sync_mode(bool legacy) {
  return legacy ? program::SyncMode::kPerInsert : program::SyncMode::kPerCommit;
}

// Returns a name such as "[64,32] from [4] [0,-1] to [4] [-1,0]".
std::string case_name(const ReshardCase& request);

// Returns a table with a row per case, at most kMostTextRows. Precondition: one answer per case.
std::string reshard_report(const std::vector<ReshardCaseDocument>& cases,
                           const std::vector<TensorReshard>& answers, std::size_t width);

// Returns a table per program with a row per rank.
std::string apply_report(const std::vector<std::pair<ProgramDocument, program::ReshardResult>>& all,
                         std::size_t width);

}  // namespace shardwright::commands
