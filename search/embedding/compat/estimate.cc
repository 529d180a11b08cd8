#include "search/embedding/compat/estimate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "search/embedding/compat/measured_costs.h"
#include "search/embedding/compat/perf_estimator.h"
#include "search/embedding/compat/storage_estimator.h"

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

Estimator::Estimator(const Problem& problem)
    : problem_(&problem),
      message_bytes_(problem.topology().spec().machine ? mean_message_bytes(problem) : 0) {}

Result<ShardingOption> Estimator::estimate(ShardingOption option) const {
  EstimateInputs in = estimate_inputs(*problem_, option);
  in.message_bytes = message_bytes_;
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
