// From a program with placements to one program per rank with the communication that they imply.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/program/edit_log.h"
#include "search/executor.h"
#include "search/program/tensor/cost_model.h"

namespace shardwright::program {

struct ReshardOptions {
  bool compat = false;  // upstream's sequences and its caching; else the cheapest known
  SyncMode sync = SyncMode::kPerCommit;
  std::optional<std::int64_t> batch_size;  // per share, for variables whose first dimension is -1
  std::vector<Rank> ranks;                 // empty = every rank of every mesh, ascending
  bool whole = false;              // also the output side, and without what a rank does not need
  std::optional<Program> startup;  // of a whole program: what initialises its variables
  Cluster cluster;
  std::optional<std::uint64_t> edit_limit;  // per rank
  std::stop_token stop;
};

struct ReshardCounters : EditCounters {
  std::uint64_t planner_calls = 0;
};

struct RankProgram {
  Rank rank = -1;
  Program program;
  std::optional<Program> startup;  // what the rank needs of it
  std::vector<Edit> edits;
  ReshardCounters counters;
};

struct ReshardResult {
  std::vector<RankProgram> ranks;
  std::uint64_t requests = 0;       // wishes of operators that need something
  std::uint64_t plans = 0;          // distinct sequences planned
  std::uint64_t items_scanned = 0;  // by the pass that all ranks share
};

// One pass over the program finds what is needed and numbers the process groups; plans and ranks
// are then independent and run on the executor. Every rank's edits are one batch on the same
// version, which stays as it is.
// Errors: kInvalidInput as find_requests(); kUnsupported where compat mode has no sequence;
// kStopped where the edit limit or a stop request ended a batch. Deterministic: the same for any
// executor. Cost: O(program) + O(requests + inserted operators) per rank, plus one mirror
// synchronisation.
Result<ReshardResult> reshard_program(const Program& program, const ReshardOptions& options,
                                      Executor& executor);

// The startup program without what does not lead to a variable that the main program of a rank
// reads, in block 0. O(both programs).
Result<Program> prune_startup(const Program& startup, const Program& main);

}  // namespace shardwright::program
