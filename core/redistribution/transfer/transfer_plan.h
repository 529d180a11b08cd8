// A transfer plan: the parts of tensors that ranks send to each other, in rounds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_problem.h"

namespace shardwright::redistribution {

// The same box of `count` consecutive tensors of a group. Thread safety: a value.
struct TransferPiece {
  std::uint32_t group = 0;
  std::uint32_t first = 0;  // index in the group's list of tensors
  std::uint32_t count = 0;
  Box box;  // in elements of the whole tensor

  friend bool operator==(const TransferPiece&, const TransferPiece&) = default;
};

// Consecutive bytes of a transfer's stream that are sent in one round.
struct MessageRun {
  std::int64_t round = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const MessageRun&, const MessageRun&) = default;
};

// All data that one rank sends to another. The pieces form one stream of bytes: piece by piece,
// within a piece tensor by tensor, within a tensor the elements of the box in row-major order. Each
// run carries the next bytes of the stream in messages of TransferPlan::message_bytes; the last
// message of a run may be shorter. Data that a rank keeps (from == to) has no runs. The last
// `passed_on` bytes of the stream are elements that the sender also wants and received before.
struct Transfer {
  Rank from = 0;
  Rank to = 0;
  std::int64_t bytes = 0;
  std::vector<TransferPiece> pieces;
  std::vector<MessageRun> runs;  // in the order of the stream; rounds ascend
  std::int64_t passed_on = 0;    // last bytes of the stream, which the sender received

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

// One direction of a rank or host, with a bandwidth.
struct TransferPort {
  enum class Kind : std::uint8_t {
    kSend,     // what a rank sends; with hosts, only to ranks of its host
    kReceive,  // what a rank receives
    kHostOut,  // what the ranks of a host send to other hosts
    kHostIn,   // what the ranks of a host receive from other hosts
  };

  Kind kind = Kind::kSend;
  std::int64_t number = 0;  // number of the rank or host

  friend bool operator==(const TransferPort&, const TransferPort&) = default;
  friend auto operator<=>(const TransferPort&, const TransferPort&) = default;
};

// A lower bound on the time of every plan in which a rank receives each element that it wants once,
// and passes elements on within its host only. `bytes` must pass through `ports`, whichever ranks
// send them. The time is therefore at least `bytes` divided by the sum of the ports' bandwidths.
// Thread safety: a value.
struct TransferBound {
  std::vector<TransferPort> ports;  // ascending
  std::int64_t bytes = 0;

  friend bool operator==(const TransferBound&, const TransferBound&) = default;
};

// Thread safety: a value.
struct TransferPlan {
  std::int64_t message_bytes = 0;  // most bytes of a message
  std::int64_t memory_bytes = 0;   // most bytes that a rank sends, or receives, in a round
  std::int64_t rounds = 0;
  std::vector<Transfer> transfers;    // by `from`, then `to`
  std::vector<TransferBound> bounds;  // at least one, each proved separately
};

}  // namespace shardwright::redistribution
