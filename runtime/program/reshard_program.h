// The public entry for resharding a whole program on all of its ranks.
#pragma once

#include "core/program/program.h"
#include "core/status.h"
#include "search/program/reshard_program.h"

namespace shardwright {

// Runs program::reshard_program() on `threads` workers (0 = one per core), whose number does not
// change the answer. Errors: kInvalidInput for `threads` below 0 or above 4096 and for a batch size
// below 1 or above 2^40; as program::reshard_program().
// Thread safety: may be called from any number of threads at once.
Result<program::ReshardResult> reshard_program(const program::Program& program,
                                               const program::ReshardOptions& options,
                                               int threads = 0);

}  // namespace shardwright
