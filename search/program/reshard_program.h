// Turns a program with placements into one program per rank, including the communication.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/program/edit_log.h"
#include "search/executor.h"
#include "search/program/best_planner.h"

namespace shardwright::program {

struct ReshardOptions {
  bool compat = false;  // Paddle's sequences and caches; else the cheapest plans
  SyncMode sync = SyncMode::kPerCommit;
  // For variables whose first extent is -1: this extent of the whole tensor.
  std::optional<std::int64_t> batch_size;
  std::vector<Rank> ranks;         // empty for every rank of every mesh, ascending
  bool whole = false;              // also reshard outputs and remove what a rank does not need
  std::optional<Program> startup;  // initialises the variables of a whole program
  Cluster cluster;
  std::optional<std::uint64_t> edit_limit;  // per rank
  std::stop_token stop;
};

struct ReshardCounters : EditCounters {
  // The number of plans that the rank looked up for inputs. Each decision of the schedule counts
  // once, unless an earlier decision has served its request, even if the rank has no step in the
  // plan. Outputs do not count. In compat mode the number equals the calls of Paddle's
  // parse_op_desc on the rank.
  std::uint64_t planner_calls = 0;
};

struct RankProgram {
  Rank rank = -1;
  Program program;
  std::optional<Program> startup;  // the part of the startup program that the rank needs
  std::vector<Edit> edits;
  ReshardCounters counters;
};

// A plan of compat mode that the program uses but that gives some rank a wrong part.
struct WrongPlan {
  OpId op;  // the reader of the variable, or its writer
  VarId var;
  bool is_output = false;
  std::string problem;  // what the simulation of the plan found, as a sentence
};

struct ReshardResult {
  std::vector<RankProgram> ranks;
  std::uint64_t requests = 0;       // inputs that must be resharded
  std::uint64_t plans = 0;          // distinct plans
  std::uint64_t items_scanned = 0;  // by the walk for all ranks
  // Only in compat mode, which reproduces Paddle's defects. In program order, outputs last.
  std::vector<WrongPlan> wrong;
};

// Makes the program of every rank. One walk over the program finds the requests and numbers the
// process groups. Plans are independent of each other, and so are ranks, so both are computed on
// the executor. The edits of a rank are one batch on a copy of `program` with the batch size filled
// in. The result does not depend on the executor.
// Errors: those of Program::with_batch_size() and find_requests(); kUnsupported if compat mode has
// no plan, or as plan_best(); kStopped if the edit limit was reached or a stop was requested.
// Cost: O(program) for all ranks together, and O(requests + inserted operators) for each rank. With
// `whole`, each rank also reads the whole program.
Result<ReshardResult> reshard_program(const Program& asked, const ReshardOptions& options,
                                      Executor& executor);

}  // namespace shardwright::program
