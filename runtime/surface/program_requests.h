// Requests and answers of the commands for programs, single tensors and models.
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
  bool compat = false;       // plan as Paddle
  bool legacy_sync = false;  // as Paddle, synchronise before every inserted operator
};

// shardwright program apply
struct ApplyRequest {
  Input program;
  Input startup;  // optional, only with `full`
  bool compat = false;
  bool legacy_sync = false;
  bool full = false;  // also reshard outputs and remove what a rank does not need
  std::optional<std::int64_t> batch_size;
  int threads = 0;  // 0 = all cores
};

// shardwright program redistribute
struct RedistributeRequest {
  Input redistribution;
  bool front = false;  // return all paths of the Pareto front of time and memory
};

// shardwright program transfer
struct TransferRequest {
  Input transfer;
  std::optional<std::int64_t> memory;         // bytes that a rank may send or receive per round
  std::optional<std::int64_t> message_bytes;  // absent = default, but at most `memory`
  bool full = false;                          // the text has a row per rank
};

// Add the members of a request to `fields`.
void describe(ReshardRequest& request, Fields& fields);
void describe(ApplyRequest& request, Fields& fields);
void describe(RedistributeRequest& request, Fields& fields);
void describe(TransferRequest& request, Fields& fields);

// Errors: those of reading and of the entry points in runtime/program and runtime/redistribution,
// with the name of the input that caused the error in the place.
Result<Answer> answer(const ReshardRequest& request, const Watch& watch);
Result<Answer> answer(const ApplyRequest& request, const Watch& watch);
Result<Answer> answer(const RedistributeRequest& request, const Watch& watch);
Result<Answer> answer(const TransferRequest& request, const Watch& watch);

}  // namespace shardwright::commands
