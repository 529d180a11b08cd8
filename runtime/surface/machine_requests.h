// Requests and answers of the commands about measured machines.
#pragma once

#include "core/status.h"
#include "runtime/io/json/json_shape.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

// shardwright machine fit
struct MachineFitRequest {
  Input measurements;
};

// shardwright machine show
struct MachineShowRequest {
  Input machine;
};

// shardwright machine diff
struct MachineDiffRequest {
  Input from, to;
};

void describe(MachineFitRequest& request, Fields& fields);
void describe(MachineShowRequest& request, Fields& fields);
void describe(MachineDiffRequest& request, Fields& fields);

// Errors: those of reading, of the fit and of MachineModel::make(), with the name of the input.
Result<Answer> answer(const MachineFitRequest& request, const Watch& watch);
Result<Answer> answer(const MachineShowRequest& request, const Watch& watch);
Result<Answer> answer(const MachineDiffRequest& request, const Watch& watch);

// The shapes of the answers of `machine show` and `machine diff`.
JsonShape machine_summary_shape();
JsonShape machine_diff_shape();

}  // namespace shardwright::commands
