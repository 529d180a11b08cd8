// One rank's batch of edits.
#pragma once

#include "search/program/emit/emitter.h"
#include "search/program/reshard_program.h"
#include "search/program/schedule.h"

namespace shardwright::program {

// Applies the decisions to the rank's program: operators before consumers, renamed inputs, and
// where asked for the output side and the removal of what belongs to other ranks.
// Errors: kStopped. May throw std::bad_alloc; the program is then as it was, as after any error.
// Thread safety: may run for several ranks at once.
Result<RankProgram> reshard_rank(const Program& program, const Requests& requests,
                                 const Schedule& schedule, const ReshardOptions& options,
                                 Rank rank);

}  // namespace shardwright::program
