// One rank's batch of edits.
#pragma once

#include "search/program/emitter.h"
#include "search/program/reshard_program.h"
#include "search/program/schedule.h"

namespace shardwright::program {

// Inserts operators before consumers and renames inputs, as the schedule says. With
// ReshardOptions::whole it also moves outputs and removes what belongs to other ranks.
// Errors: kStopped. May throw std::bad_alloc. `program` never changes.
// Thread safety: may be called for several ranks at once.
Result<RankProgram> reshard_rank(const Program& program, const Requests& requests,
                                 const Schedule& schedule, const ReshardOptions& options,
                                 Rank rank);

}  // namespace shardwright::program
