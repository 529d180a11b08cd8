// The commands for programs, single tensors and models: a request of each, and its answer.
#pragma once

#include <cstdint>
#include <optional>

#include "core/redistribution/transfer/transfer_problem.h"
#include "core/status.h"
#include "runtime/program/transfer_tensors.h"
#include "runtime/surface/answer.h"
#include "runtime/surface/fields.h"
#include "runtime/surface/input.h"

namespace shardwright::commands {

// shardwright program reshard
struct ReshardRequest {
  Input cases;
  bool compat = false;       // as Paddle plans
  bool legacy_sync = false;  // a synchronisation before every inserted operator, as in Paddle
};

// shardwright program apply
struct ApplyRequest {
  Input program;
  Input startup;  // with `full` only; may be absent
  bool compat = false;
  bool legacy_sync = false;
  bool full = false;  // also reshard outputs, and remove what a rank does not need
  std::optional<std::int64_t> batch_size;
  int threads = 0;  // 0 = all
};

// shardwright program redistribute
struct RedistributeRequest {
  Input redistribution;
  bool front = false;  // also all paths on the Pareto front of time and memory
};

// shardwright program transfer
struct TransferRequest {
  Input transfer;
  std::optional<std::int64_t> memory;         // bytes that a rank sends or receives in a round
  std::optional<std::int64_t> message_bytes;  // absent: at most `memory`
  bool full = false;                          // the text has a row for every rank
};

// The members of the requests.
void describe(ReshardRequest& request, Fields& fields);
void describe(ApplyRequest& request, Fields& fields);
void describe(RedistributeRequest& request, Fields& fields);
void describe(TransferRequest& request, Fields& fields);

// Errors: those of reading the inputs and of the entries (runtime/program,
// runtime/redistribution), at the input that caused the error.
Result<Answer> answer(const ReshardRequest& request, const Watch& watch);
Result<Answer> answer(const ApplyRequest& request, const Watch& watch);
Result<Answer> answer(const RedistributeRequest& request, const Watch& watch);
Result<Answer> answer(const TransferRequest& request, const Watch& watch);

}  // namespace shardwright::commands
