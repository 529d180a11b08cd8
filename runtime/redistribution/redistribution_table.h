// A cache of planned redistributions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/status.h"
#include "runtime/redistribution/plan_redistribution.h"
#include "search/once_map.h"

namespace shardwright {

// Searches once for each combination of mesh, shape, itemsize, source and target. All searches have
// the same options. Answers are never evicted.
// Thread safety: every member may be called from any thread.
class RedistributionTable {
 public:
  explicit RedistributionTable(RedistributionOptions options = {});

  // Returns the answer of plan_redistribution(); the table owns it. A cached answer takes O(axes +
  // dimensions), without a lock or an allocation. If several threads ask the same new question, all
  // may search, and one answer is kept. Errors: as plan_redistribution(); errors are not cached.
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
