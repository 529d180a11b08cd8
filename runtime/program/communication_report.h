// The messages between the ranks of a program and their times, if computation takes no time.
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

// The program of one rank, with the operators that resharding inserted.
struct RankedProgram {
  program::Rank rank = -1;
  const program::Program* program = nullptr;  // borrowed
};

// A point-to-point message or a collective.
struct ReportedCommunication {
  std::string type;                  // operator type: "c_allgather", "send_v2"
  std::vector<program::Rank> ranks;  // all participants; of a message {sender, receiver}
  double start_us = 0;
  double us = 0;
  double receive_us = 0;        // when the receiver takes the message
  std::int64_t pair_bytes = 0;  // from one rank to another rank
  std::string tensor;
  std::string reader;  // type of the consumer of the tensor
};

struct ReportedRankLoad {
  program::Rank rank = -1;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  double communicating_us = 0;
  double local_us = 0;   // time for cutting and joining pieces
  double finish_us = 0;  // when the rank ends, waiting included
};

// Thread safety: a value.
struct CommunicationReport {
  // Precondition: the report has this rank.
  const ReportedRankLoad& load_of(program::Rank rank) const;

  std::vector<ReportedRankLoad> ranks;                // ascending by rank
  std::vector<ReportedCommunication> communications;  // ascending by start
  double total_us = 0;                                // when the last rank ends
  std::int64_t moved_bytes = 0;                       // sent between different ranks
};

// Replays the inserted operators of every rank in program order. A collective begins when all its
// ranks have reached it. A message is received after it was sent. Operators in blocks of control
// flow run once. An unknown batch dimension counts as 1; a resharded program has none. Cost:
// O(operators x ranks of a group).
CommunicationReport make_communication_report(std::span<const RankedProgram> programs,
                                              const program::Cluster& cluster);

// Makes the report of a resharded program.
CommunicationReport communication_of(const program::ReshardResult& result,
                                     const program::Cluster& cluster = {});

}  // namespace shardwright
