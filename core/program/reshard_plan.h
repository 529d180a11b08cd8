// What every rank does to turn one placement of a tensor into another.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/program/part.h"

namespace shardwright::program {

enum class StepKind : std::uint8_t {
  kAllGather,      // every member's tensor, side by side along dimension 0 or, split, as pieces
  kConcatGather,   // every member's tensor, side by side along the last dimension
  kAllReduce,      // the reduction of every member's tensor
  kReduceScatter,  // the own piece, along `dim`, of that reduction
  kAllToAll,       // pieces along `dim` exchanged, joined along `other_dim`
  kSend,           // a box to another rank
  kRecv,           // a box from another rank becomes the next piece
  kKeep,           // a box of the own tensor becomes the next piece
  kConcat,         // the pieces, which are `parts` of the whole tensor, become one tensor
  kSlice,          // `part` of the tensor, in its own coordinates
  kZero,           // a tensor of zeros of the shape of `part`
  kEnd             // nothing; closes a gather that needs nothing else
};

// One step of one rank. A rank works on one tensor, at first its share of the source; pieces wait
// beside it until a concat makes them the tensor. Which fields count is said by the kind.
// Thread safety: a value.
struct Step {
  StepKind kind = StepKind::kEnd;
  bool need_split = false;                // all-gather: the result are pieces, one per member
  Reduction reduction = Reduction::kSum;  // all-reduce, reduce-scatter
  std::int8_t axis = -1;                  // collectives planned on a mesh: its axis
  std::int8_t dim = -1;                   // the dimension that is gathered or scattered
  std::int8_t other_dim = -1;
  Rank src = -1;  // send, recv
  Rank dst = -1;
  std::vector<Rank> group;  // collectives, in the order of the pieces
  Part part;                // send, recv, keep, zero: of the whole tensor; slice: of the own tensor
  Part local;               // send, keep: `part` in the own tensor; empty = all of it
  std::vector<Part> parts;  // concat

  friend bool operator==(const Step&, const Step&) = default;
};

// The steps of every rank that has any, in the order in which planning first touched the ranks.
// Thread safety: a value.
struct ReshardPlan {
  std::vector<std::pair<Rank, std::vector<Step>>> ranks;

  // Null where the rank has no part in it. O(ranks).
  const std::vector<Step>* steps_of(Rank rank) const;
  // Adds the rank where it is new. O(ranks).
  std::vector<Step>& at(Rank rank);
  bool empty() const { return ranks.empty(); }
};

bool is_collective(StepKind kind);

}  // namespace shardwright::program
