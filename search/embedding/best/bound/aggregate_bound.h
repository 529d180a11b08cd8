// A lower bound from prices alone: what all ranks together have, against what all tables need.
#pragma once

#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/best/bound/bound_rows.h"

namespace shardwright::embedding {

struct AggregateBound {
  double bound = 0;                // no plan rates below it; infinite where nothing fits at all
  std::vector<RankPrices> prices;  // by class, that show it
};

// The best bound over all prices, counting only choices that are possible below `target`; where it
// exceeds `target`, no plan rates below `target`. By cutting planes: every round prices all
// choices. `zones` says by choice where it may be, 0 = nowhere. O(rounds x choices) time.
AggregateBound aggregate_bound(const BoundRows& rows, double target, const std::vector<Zone>& zones,
                               Budget& budget);

}  // namespace shardwright::embedding
