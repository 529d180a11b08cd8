// What the ranks of a program send to each other, and when, if computing takes no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/program/program.h"
#include "search/program/best_planner.h"
#include "search/program/reshard_program.h"

namespace shardwright {

// The program of one rank, with the operators that a resharding inserted.
struct RankedProgram {
  program::Rank rank = -1;
  const program::Program* program = nullptr;  // borrowed
};

// A message or a collective.
struct ReportedCommunication {
  std::string type;                  // of the operator: "c_allgather", "send_v2"
  std::vector<program::Rank> ranks;  // participants; for a message the sender, then the receiver
  double start_us = 0;
  double us = 0;
  double receive_us = 0;        // for a message: when its receiver takes it
  std::int64_t pair_bytes = 0;  // from one rank to another
  std::string tensor;
  std::string reader;  // the type of the program's operator that follows
};

struct ReportedRankLoad {
  program::Rank rank = -1;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  double communicating_us = 0;
  double local_us = 0;   // cutting and joining pieces
  double finish_us = 0;  // waiting included
};

// Thread safety: a value.
struct CommunicationReport {
  // Precondition: the report has the rank.
  const ReportedRankLoad& load_of(program::Rank rank) const;

  std::vector<ReportedRankLoad> ranks;                // ascending
  std::vector<ReportedCommunication> communications;  // by start
  double total_us = 0;                                // until the last rank has finished
  std::int64_t moved_bytes = 0;                       // between different ranks
};

// Replays the inserted operators of every rank in program order. A collective begins when all of
// its ranks have reached it. A message is received after it was sent. Operators in the blocks of
// control flow run once. Batch dimensions of unknown size, which a resharded program does not have,
// count as 1. Cost: O(operators x ranks of a group).
CommunicationReport make_communication_report(std::span<const RankedProgram> programs,
                                              const program::Cluster& cluster);

// Makes the report of a resharded program.
CommunicationReport communication_of(const program::ReshardResult& result,
                                     const program::Cluster& cluster = {});

}  // namespace shardwright
