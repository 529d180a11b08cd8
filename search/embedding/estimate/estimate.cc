#include "search/embedding/estimate/estimate.h"

#include <cmath>
#include <string>

#include "search/embedding/estimate/inputs.h"
#include "search/embedding/estimate/perf.h"
#include "search/embedding/estimate/storage.h"

namespace shardwright::embedding {
namespace {

// Totals over all ranks must fit too, whatever the number of replicas.
constexpr double kMaxTotalBytes = 4611686018427387904.0;  // 2^62

std::string described(const EstimateInputs& in) {
  return "table \"" + in.table->name + "\" (" + std::string(to_name(in.sharding_type)) + ", " +
         std::string(to_name(in.compute_kernel)) + ")";
}

}  // namespace

Result<ShardingOption> Estimator::estimate(ShardingOption option) const {
  const EstimateInputs in = estimate_inputs(*problem_, option);
  const std::optional<double> bandwidth = kernel_bandwidth(in);
  if (!bandwidth) {
    return invalid_input("", "no bandwidth is known for " + described(in) + " on device " +
                                 std::string(to_name(problem_->topology().compute_device())));
  }
  option.batch_size = problem_->batch_size();
  option.is_pooled = in.is_pooled;
  option.is_weighted = in.is_weighted;
  option.costs.clear();
  double total_bytes = 0;
  for (const ShardExtent& extent : option.layout->extents) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const Storage storage, estimate_storage(in, extent));
    const Perf perf = estimate_perf(in, *bandwidth, extent.rows, extent.columns);
    if (!std::isfinite(perf.total().value())) {
      return invalid_input("", "the time of " + described(in) +
                                   " is not finite; check batch size, pooling and bandwidths");
    }
    total_bytes += (static_cast<double>(storage.hbm.value()) +
                    static_cast<double>(storage.ddr.value())) * extent.count;
    option.costs.push_back(ShardCost{storage, perf});
  }
  if (total_bytes >= kMaxTotalBytes) {
    return invalid_input("", "the shards of " + described(in) + " would take more than 2^62 bytes");
  }
  return option;
}

}  // namespace shardwright::embedding
