// A cache of redistributions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "runtime/redistribution/plan_redistribution.h"
#include "search/once_map.h"

namespace shardwright {

// Searches once per tensor, mesh, source and target, under the same options. Answers are never
// forgotten.
// Thread safety: every member may be called from any thread.
class RedistributionTable {
 public:
  explicit RedistributionTable(RedistributionOptions options = {});

  // Returns the answer of plan_redistribution(), which lives as long as the table. A known answer
  // takes O(axes + dimensions), without a lock or an allocation. Errors: those of
  // plan_redistribution(), which are not remembered. Threads that ask the same new question at once
  // may all search; one answer is kept.
  Result<const PlannedRedistribution*> plan(const RedistributionCase& request);

  std::size_t size() const { return answers_.size(); }

 private:
  struct CaseHash {
    std::uint64_t operator()(const RedistributionCase& request) const;
  };

  RedistributionOptions options_;
  OnceMap<RedistributionCase, PlannedRedistribution, CaseHash> answers_;
};

}  // namespace shardwright
