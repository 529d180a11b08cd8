// A proposal in the trace of a search.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/embedding/compat/proposals/proposal_batch.h"

namespace shardwright::embedding {

// A proposal in the order of the search, with its outcome. Option ids are indices into the option
// list of the trace.
struct ProposalRecord {
  std::uint32_t proposer = 0;
  bool full = false;  // `changes` lists every position; otherwise those that differ from the
                      // previous proposal of this proposer
  std::vector<ProposalChange> changes;
  bool cached = false;  // the same set of options was proposed before
  bool feasible = false;
  std::optional<double> rating;  // of a feasible proposal
  std::string ranks_sha1;        // 16 hex digits; empty if cached or not feasible
};

}  // namespace shardwright::embedding
