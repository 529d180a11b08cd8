// Applies the schedule to the program of one rank.
#pragma once

#include "search/program/emitter.h"
#include "search/program/reshard_program.h"
#include "search/program/schedule.h"

namespace shardwright::program {

// Makes the program of one rank: inserts operators before consumers and renames inputs according to
// the schedule, as one batch of edits on a copy of `program`. With ReshardOptions::whole, also
// reshards outputs and removes the parts of other ranks. Errors: kStopped. May throw
// std::bad_alloc. Thread safety: may be called for several ranks at once.
Result<RankProgram> reshard_rank(const Program& program, const Requests& requests,
                                 const Schedule& schedule, const ReshardOptions& options,
                                 Rank rank);

}  // namespace shardwright::program
