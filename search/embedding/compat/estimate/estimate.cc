#include "search/embedding/compat/estimate/estimate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "search/embedding/compat/estimate/embedding_perf_estimator.h"
#include "search/embedding/compat/estimate/embedding_storage_estimator.h"
#include "search/embedding/compat/estimate/inputs.h"

namespace shardwright::embedding {
namespace {

std::string described(const EstimateInputs& in) {
  return "table \"" + in.table->name + "\" (" + std::string(to_name(in.sharding_type)) + ", " +
         std::string(to_name(in.compute_kernel)) + ")";
}

bool supports(const HardwarePerfConfig* hardware, ShardingType type) {
  if (hardware == nullptr || hardware->supported_sharding_types.empty()) return true;
  const std::vector<ShardingType>& types = hardware->supported_sharding_types;
  return std::find(types.begin(), types.end(), type) != types.end();
}

// Applies the factors that the user measured for the kernel. Errors: kInvalidInput above 2^62
// bytes.
Result<ShardCost> calibrated_cost(const ShardCost& cost, const KernelCalibration& kernel,
                                  std::int64_t columns, const EstimateInputs& in) {
  const auto scaled = [&](Bytes bytes) {
    return kernel.memory == 1 ? static_cast<double>(bytes.value())
                              : std::ceil(static_cast<double>(bytes.value()) * kernel.memory);
  };
  ShardCost measured{cost.storage, calibrated(cost.perf, kernel, columns)};
  for (const MemoryTier tier : kMemoryTiers) {
    const double bytes = scaled(cost.storage[tier]);
    if (!(bytes < kMaxTotalBytes)) {
      return invalid_input(
          "/calibration/kernels/" + std::string(to_name(kernel.kernel)) + "/memory",
          "makes a shard of " + described(in) + " take more than 2^62 bytes");
    }
    if (kernel.memory != 1) measured.storage[tier] = Bytes(static_cast<std::int64_t>(bytes));
  }
  return measured;
}

}  // namespace

Result<ShardingOption> Estimator::estimate(ShardingOption option) const {
  const EstimateInputs in = estimate_inputs(*problem_, option);
  if (!supports(in.hardware, option.sharding_type)) {
    return invalid_input("/perf_estimator/config/supported_sharding_types",
                         "lacks the sharding type of " + described(in));
  }
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
  const KernelCalibration* const measured =
      problem_->spec().calibration.find(option.compute_kernel);
  for (const ShardExtent& extent : option.layout->extents) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const Storage storage, estimate_storage(in, extent));
    ShardCost cost{storage, estimate_perf(in, *bandwidth, extent.rows, extent.columns)};
    if (measured != nullptr) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(cost, calibrated_cost(cost, *measured, extent.columns, in));
    }
    cost.perf.bwd_comms += estimate_sync(in, extent);
    if (!std::isfinite(cost.perf.total().value())) {
      return invalid_input("", "the time of " + described(in) +
                                   " is not finite; check batch size, pooling and bandwidths");
    }
    total_bytes += as_doubles(cost.storage).sum() * extent.count;
    option.costs.push_back(cost);
  }
  if (total_bytes >= kMaxTotalBytes) {
    return invalid_input("", "the shards of " + described(in) + " would take more than 2^62 bytes");
  }
  return option;
}

}  // namespace shardwright::embedding
