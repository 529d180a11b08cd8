// The public entry for moving all tensors of a model from one layout to another.
#pragma once

#include <cstdint>
#include <stop_token>

#include "core/redistribution/transfer/port_loads.h"
#include "core/redistribution/transfer/transfer_plan.h"
#include "core/status.h"
#include "search/redistribution/transfer/plan_transfer.h"

namespace shardwright {

struct TransferOptions {
  redistribution::TransferLimits limits;
  std::stop_token stop;
};

// A plan that the checker has accepted. Times are in ms if the problem has hosts, else in bytes.
struct TransferAnswer {
  redistribution::TransferPlan plan;
  redistribution::PortLoads loads;
  double busiest = 0;  // time of the busiest port
  double bound = 0;    // lower bound on `busiest` of any plan
  std::int64_t moved_bytes = 0;
  std::int64_t kept_bytes = 0;
  std::int64_t messages = 0;
  std::int64_t least_rounds = 0;  // lower bound on the rounds, from memory and busiest rank
  std::uint64_t work = 0;
};

// Plans the transfer and checks every claim of the plan. Errors: as
// redistribution::plan_transfer(); kVerificationFailed if the checker refuses the plan. Thread
// safety: may be called from any number of threads at once.
Result<TransferAnswer> transfer_tensors(const redistribution::TransferProblem& problem,
                                        const TransferOptions& options);

}  // namespace shardwright
