// What happened in a round of best mode: in one process, or in all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/stop_reason.h"
#include "search/embedding/best/bound/tree/tree_lane.h"
#include "search/embedding/best/incumbent/rated.h"

namespace shardwright::embedding {

// The best allocation that a lane has. What another process sent is owned here; a lane of this
// process keeps its own.
// Thread safety: a value; refers to the lane.
struct FoundAllocation {
  std::size_t lane = 0;
  const RatedAllocation* rated = nullptr;  // null if no lane found a better one than is known
  std::shared_ptr<const RatedAllocation> received;
};

// The part of the process that proves.
// Thread safety: a value.
struct ProofReport {
  double bound = 0;
  bool is_finished = false;
  std::vector<SuggestedChoices> suggestions;
  std::optional<RatedAllocation> found;  // below a target, instead of a proof
  // Of the lane that solves neighbourhoods.
  bool is_solving = false;
  bool is_solved = false;
  bool is_certified = false;  // trying all plans was the proof
};

// Thread safety: a value.
struct RoundReport {
  std::vector<std::uint64_t> lane_work;  // by lane, in steps; 0 for lanes of other processes
  std::optional<StopReason> stopped;     // the budget was interrupted
  FoundAllocation found;
  std::optional<ProofReport> proof;  // of process 0
};

// Adds the report of another process. The best allocation is the one of the first lane among
// equals.
void add_report(RoundReport&& other, RoundReport& to);

}  // namespace shardwright::embedding
