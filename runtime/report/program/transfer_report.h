// The numbers of a transfer's report, before they are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/program/transfer_tensors.h"
#include "runtime/report/program/transfer_ports.h"

namespace shardwright {

// Ranks that are shown as one: those of the numbers from `first` to `last` that take part.
struct RankBlock {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t ranks = 0;
};

// What the ranks of one block send to those of another one.
struct ReportedFlow {
  std::size_t from = 0;  // of TransferReport::senders
  std::size_t to = 0;    // of TransferReport::receivers
  std::int64_t bytes = 0;
};

// Most bytes of a rank of the block.
struct ReportedLoad {
  RankBlock block;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t kept = 0;
};

// Rounds that follow each other.
struct ReportedRounds {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t bytes = 0;      // in all of them
  std::int64_t most_sent = 0;  // by a rank in one of them
  std::int64_t most_received = 0;
};

// A group of equal tensors.
struct ReportedGroup {
  std::size_t group = 0;         // of TransferProblem::groups()
  std::int64_t bytes = 0;        // of all its tensors
  std::int64_t moved_bytes = 0;  // that one rank sends to another one
};

// A transfer as reports show it, of a size that does not grow with the plan. Thread safety: a
// value.
struct TransferReport {
  static constexpr std::size_t kMostBlocks = 64;  // of senders, and of receivers
  static constexpr std::size_t kMostLoads = 1024;
  static constexpr std::size_t kMostRounds = 256;
  static constexpr std::size_t kMostGroups = 100;

  std::vector<ReportedPort> ports;
  std::vector<RankBlock> senders;  // those that send anything, ascending
  std::vector<RankBlock> receivers;
  std::vector<ReportedFlow> flows;     // by sender and receiver; without what ranks keep
  std::vector<ReportedLoad> loads;     // of all ranks, ascending
  std::vector<ReportedRounds> rounds;  // ascending
  std::vector<ReportedGroup> groups;   // those that move most, at most kMostGroups
};

// O(transfers + pieces + runs * log runs).
TransferReport make_transfer_report(const redistribution::TransferProblem& problem,
                                    const TransferAnswer& answer);

}  // namespace shardwright
