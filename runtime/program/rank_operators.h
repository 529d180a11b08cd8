// The inserted operators of one rank, in the form that the replay of all ranks reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/program/communication_report.h"

namespace shardwright {

struct RankOperator {
  enum class Kind : std::uint8_t { kLocal, kSend, kReceive, kCollective };
  Kind kind = Kind::kLocal;
  std::string type;
  std::vector<program::Rank> group;  // of a message {sender, receiver}
  double us = 0;
  std::int64_t pair_bytes = 0;  // from one rank of the group to another rank
  std::string tensor;
  std::string reader;
};

// Returns the inserted operators in program order, block after block.
std::vector<RankOperator> inserted_operators(const RankedProgram& ranked,
                                             const program::Cluster& cluster);

}  // namespace shardwright
