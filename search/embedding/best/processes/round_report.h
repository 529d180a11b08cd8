// What happened in a round of best mode: in one process, or in all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/stop_reason.h"
#include "search/embedding/best/bound/shared/tree_view.h"
#include "search/embedding/best/bound/tree/tree_lane.h"
#include "search/embedding/best/incumbent/rated.h"
#include "search/embedding/model/suggested_start.h"

namespace shardwright::embedding {

// The best allocation that a lane has. What another process sent is owned here; a lane of this
// process keeps its own.
// Thread safety: a value; refers to the lane.
struct FoundAllocation {
  std::size_t lane = 0;
  const RatedAllocation* rated = nullptr;  // null if no lane found a better one than is known
  std::shared_ptr<const RatedAllocation> received;
};

// Of the lane that solves neighbourhoods.
// Thread safety: a value.
struct NeighbourhoodReport {
  bool is_solving = false;
  bool is_solved = false;
  // Leaves of a certificate by search, in the round in which a small model was solved.
  std::optional<std::vector<BoundNode>> proof;
};

// What a lane of the proof's tree did.
// Thread safety: a value.
struct TreeLaneReport {
  std::uint32_t lane = 0;
  LaneReport report;
};

// What the process that proves says after a round.
// Thread safety: a value.
struct ProofReport {
  double bound = 0;
  bool is_finished = false;
  std::vector<SuggestedStart> suggestions;
  std::optional<RatedAllocation> found;  // below a target, instead of a proof
  bool is_certified = false;             // trying all plans was the proof
};

// What the proof does in the next round.
// Thread safety: a value.
struct ProofOrder {
  std::uint64_t share = 0;  // of the work, in lanes
  std::uint32_t lanes = 0;  // that work: none, the first one, or all, which share a tree
  std::uint64_t rank_share = 0;  // of the lanes of the tree over ranks together
  // Of a shared tree: the process of every lane. Empty if all of them stay in process 0.
  std::vector<std::uint32_t> processes;
  std::optional<TreeStart> start;  // if `processes` begin with it
  std::vector<LeafTransfer> transfers;

  bool is_dealt() const { return !processes.empty(); }
};

// Thread safety: a value.
struct Verdict {
  ProofReport proof;
  ProofOrder next;
};

// Thread safety: a value.
struct RoundReport {
  std::vector<std::uint64_t> lane_work;  // by lane, in steps; 0 for lanes of other processes
  std::optional<StopReason> stopped;     // the budget was interrupted
  FoundAllocation found;
  std::optional<NeighbourhoodReport> neighbourhoods;  // of the process of that lane
  std::vector<TreeLaneReport> tree_lanes;             // if they are dealt out
};

// Adds the report of another process. The best allocation is the one of the first lane among
// equals.
void add_report(RoundReport&& other, RoundReport& to);

}  // namespace shardwright::embedding
