// Executes a plan on bytes and compares every target shard with the tensor.
#pragma once

#include "core/redistribution/transfer/transfer_plan.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Every rank fills its source shards with known bytes and sends them run by run in the rounds of
// the plan. A rank may pass on received bytes from the next round on. Holds all shards of all ranks
// in memory, so tensors must be small. Errors (kVerificationFailed): the first target shard that
// has a wrong byte. Precondition: check_transfer() succeeded.
Status execute_transfer(const TransferProblem& problem, const TransferPlan& plan);

}  // namespace shardwright::redistribution
