// Applies the schedule to the program of one rank.
#pragma once

#include "search/program/emitter.h"
#include "search/program/reshard_program.h"
#include "search/program/schedule.h"

namespace shardwright::program {

// Inserts operators before consumers and renames inputs according to the schedule, as one batch of
// edits. With ReshardOptions::whole it also reshards outputs and removes the parts of other ranks.
// Errors: kStopped. May throw std::bad_alloc. `program` never changes.
// Thread safety: may be called for several ranks at once.
Result<RankProgram> reshard_rank(const Program& program, const Requests& requests,
                                 const Schedule& schedule, const ReshardOptions& options,
                                 Rank rank);

}  // namespace shardwright::program
