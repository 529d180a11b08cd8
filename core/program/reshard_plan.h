// The steps by which ranks turn one placement of a tensor into another.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/program/dist_attr.h"

namespace shardwright::program {

enum class StepKind : std::uint8_t {
  kAllGather,      // joins all members' tensors along dimension 0, or keeps them as pieces
  kConcatGather,   // joins all members' tensors along the last dimension
  kAllReduce,      // reduces all members' tensors
  kReduceScatter,  // reduces all members' tensors and keeps this rank's piece along `dim`
  kAllToAll,       // exchanges pieces along `dim` and joins them along `other_dim`
  kSend,           // sends a box to another rank
  kRecv,           // receives a box from another rank as the next piece
  kKeep,           // takes a box of this rank's tensor as the next piece
  kConcat,         // joins the pieces, which are `parts` of the whole tensor, into one tensor
  kSlice,          // cuts `part` out of the tensor, in the tensor's own coordinates
  kZero,           // makes a tensor of zeros with the shape of `part`
  kEnd             // does nothing; follows a gather without further steps
};

// One step of one rank. A rank works on one tensor, which is at first its part of the source.
// Pieces are kept beside the tensor until a concat joins them into a new tensor. The kind
// determines which fields are used.
// Thread safety: a value.
struct Step {
  StepKind kind = StepKind::kEnd;
  bool need_split = false;  // all-gather: the result is pieces, one per member
  redistribution::ReduceOp reduction = redistribution::ReduceOp::kSum;  // reducing collectives
  std::int8_t axis = -1;  // collectives planned on a mesh: mesh axis
  std::int8_t dim = -1;   // dimension that is gathered or scattered
  std::int8_t other_dim = -1;
  Rank src = -1;  // send, recv
  Rank dst = -1;
  std::vector<Rank> group;  // collectives, in the order of the pieces
  // For send, recv, keep and zero, in coordinates of the whole tensor; for slice, in coordinates of
  // this rank's tensor. For reduce-scatter and all-to-all along an uneven dimension, the part that
  // this rank takes of every member's tensor; empty if pieces are equal.
  Part part;
  Part local;               // send, keep: `part` within this rank's tensor; empty for all of it
  std::vector<Part> parts;  // concat

  friend bool operator==(const Step&, const Step&) = default;
};

// The steps of every rank that takes part, in the order of the ranks' first planned steps.
// Thread safety: a value.
struct ReshardPlan {
  std::vector<std::pair<Rank, std::vector<Step>>> ranks;

  // Returns null if the rank has no steps. O(ranks).
  const std::vector<Step>* steps_of(Rank rank) const;
  // Adds the rank if it is new. O(ranks).
  std::vector<Step>& at(Rank rank);
  bool empty() const { return ranks.empty(); }
};

bool is_collective(StepKind kind);

}  // namespace shardwright::program
