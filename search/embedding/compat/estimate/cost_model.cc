#include "search/embedding/compat/estimate/cost_model.h"

#include <cmath>
#include <string>

namespace shardwright::embedding {
namespace {

bool is_time(Milliseconds time) { return std::isfinite(time.value()) && time.value() >= 0; }

bool is_cost(const ShardCost& cost) {
  const Perf& perf = cost.perf;
  return !cost.storage.is_negative() && is_time(perf.fwd_compute) && is_time(perf.fwd_comms) &&
         is_time(perf.bwd_compute) && is_time(perf.bwd_comms) && is_time(perf.prefetch_compute) &&
         is_time(perf.total());
}

}  // namespace

Status check_costs(const ShardingOption& option) {
  const std::string of = "the cost model's answer for a " +
                         std::string(to_name(option.sharding_type)) + " option with " +
                         std::string(to_name(option.compute_kernel)) + " ";
  if (option.costs.size() != option.layout->extents.size()) {
    return invalid_input("", of + "has " + std::to_string(option.costs.size()) + " costs for " +
                                 std::to_string(option.layout->extents.size()) + " extents");
  }
  double total_bytes = 0;
  for (std::size_t i = 0; i < option.costs.size(); ++i) {
    const ShardCost& cost = option.costs[i];
    if (!is_cost(cost)) {
      return invalid_input("", of + "has bytes or times that are negative or not finite");
    }
    total_bytes += as_doubles(cost.storage).sum() * option.layout->extents[i].count;
  }
  if (total_bytes >= kMaxTotalBytes) return invalid_input("", of + "takes more than 2^62 bytes");
  return {};
}

}  // namespace shardwright::embedding
