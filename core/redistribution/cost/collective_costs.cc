#include "core/redistribution/cost/collective_costs.h"

#include <limits>

namespace shardwright::redistribution {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllGather:
      return "all-gather";
    case Collective::kReduceScatter:
      return "reduce-scatter";
    case Collective::kAllReduce:
      return "all-reduce";
    case Collective::kAllToAll:
      return "all-to-all";
  }
  return "";
}

double CollectiveCosts::microseconds_over(Collective /*collective*/, const Axes& /*axes*/,
                                          double /*bytes*/) const {
  return std::numeric_limits<double>::infinity();
}

double CollectiveCosts::permute_microseconds(const Axes& /*axes*/, double /*bytes*/) const {
  return std::numeric_limits<double>::infinity();
}

}  // namespace shardwright::redistribution
