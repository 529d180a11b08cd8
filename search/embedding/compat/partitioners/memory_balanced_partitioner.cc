#include "search/embedding/compat/partitioners/memory_balanced_partitioner.h"

#include <algorithm>

#include "core/numeric/exact_arithmetic.h"
#include "search/embedding/compat/rating/perf_models.h"

namespace shardwright::embedding {
namespace {

// The bisection stops at this width of the range, in bytes.
constexpr std::int64_t kResolution = 10 * kMebibyte;

// The average load, or the largest shard if it is larger. The average is a rounded quotient cut to
// an integer, as in Python. Source: the lower bound in MemoryBalancedPartitioner.partition.
std::int64_t least_hbm_per_device(std::span<const OptionId> proposal, const OptionPool& pool,
                                  std::uint32_t world_size) {
  WideUnsigned total = 0;
  std::int64_t largest = 0;
  for (const OptionId id : proposal) {
    total += static_cast<WideUnsigned>(pool.row(id).storage.hbm.value());
    largest = std::max(largest, pool.row(id).max_storage.hbm.value());
  }
  return std::max(static_cast<std::int64_t>(true_divide(total, world_size)), largest);
}

}  // namespace

bool MemoryBalancedPartitioner::partition(std::span<const OptionId> proposal,
                                          const GroupOrder& order, Placement& placement) {
  const std::uint32_t world_size = placement.num_devices();
  perf_by_rank_.resize(world_size);
  hbm_by_rank_.resize(world_size);
  if (!greedy_.partition(proposal, order, placement)) return false;
  const double original = rate_perf(proposal, placement, perf_by_rank_);
  best_ranks_.assign(placement.all_ranks().begin(), placement.all_ranks().end());

  auto high = static_cast<std::int64_t>(rate_storage(proposal, placement, hbm_by_rank_));
  std::int64_t low = least_hbm_per_device(proposal, placement.pool(), world_size);
  for (std::int64_t i = 0; i < spec_.max_search_count && low + kResolution < high; ++i) {
    const std::int64_t middle = (high + low) / 2;
    const bool accepted =
        greedy_.partition(proposal, order, placement, middle) &&
        !(rate_perf(proposal, placement, perf_by_rank_) > original * (1 + spec_.tolerance));
    if (accepted) {
      std::copy(placement.all_ranks().begin(), placement.all_ranks().end(), best_ranks_.begin());
      high = middle;
    } else {
      low = middle;
    }
  }
  placement.restore_ranks(best_ranks_);
  return true;
}

}  // namespace shardwright::embedding
