#include "search/embedding/compat/rating.h"

#include <algorithm>

namespace shardwright::embedding {

std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks) {
  switch (model) {
    case PerfModel::kPerf:
      return std::make_unique<NoopPerfModel>(ranks);
    case PerfModel::kStorage:
      return std::make_unique<NoopStorageModel>(ranks);
  }
  return nullptr;
}

namespace {

// Adds every shard of an option to `by_rank[its rank]`, in shard order.
template <class Value, class Get>
void add_option(const OptionRow& row, const Placement& placement, const Get& get, Value* by_rank) {
  const OptionPool& pool = placement.pool();
  const auto costs = pool.costs(row);
  const std::uint32_t* counts = pool.run_counts(row);
  if (row.partition_by == PartitionBy::kUniform) {
    for (std::size_t run = 0; run < costs.size(); ++run) {
      const Value value = get(costs[run]);
      for (std::uint32_t k = 0; k < counts[run]; ++k)
        *by_rank++ += value;
    }
    return;
  }
  const Rank* rank = placement.ranks(row).data();
  for (std::size_t run = 0; run < costs.size(); ++run) {
    const Value value = get(costs[run]);
    for (std::uint32_t k = 0; k < counts[run]; ++k)
      by_rank[*rank++] += value;
  }
}

// Adds the times of the leading options that are uniform with equal times, in one sum, because
// these are the same on all ranks. Returns the number of these options.
std::size_t add_common_prefix(std::span<const OptionId> proposal, const OptionPool& pool,
                              std::vector<double>& perf_by_rank) {
  double common = 0;
  std::size_t i = 0;
  for (; i < proposal.size(); ++i) {
    const OptionRow& row = pool.row(proposal[i]);
    if (row.partition_by != PartitionBy::kUniform || !row.equal_perf) break;
    common += pool.costs(row).front().total_ms();
  }
  std::fill(perf_by_rank.begin(), perf_by_rank.end(), common);
  return i;
}

}  // namespace

double rate_perf(std::span<const OptionId> proposal, const Placement& placement,
                 std::vector<double>& perf_by_rank) {
  const OptionPool& pool = placement.pool();
  std::size_t i = add_common_prefix(proposal, pool, perf_by_rank);
  for (; i < proposal.size(); ++i) {
    add_option(
        pool.row(proposal[i]), placement, [](const RunCost& cost) { return cost.total_ms(); },
        perf_by_rank.data());
  }
  return *std::max_element(perf_by_rank.begin(), perf_by_rank.end());
}

double rate_storage(std::span<const OptionId> proposal, const Placement& placement,
                    std::vector<std::int64_t>& hbm_by_rank) {
  std::fill(hbm_by_rank.begin(), hbm_by_rank.end(), 0);
  for (const OptionId id : proposal) {
    add_option(
        placement.pool().row(id), placement,
        [](const RunCost& cost) { return cost.storage.hbm.value(); }, hbm_by_rank.data());
  }
  return static_cast<double>(*std::max_element(hbm_by_rank.begin(), hbm_by_rank.end()));
}

double NoopPerfModel::rate(std::span<const OptionId> proposal, const Placement& placement) {
  return rate_perf(proposal, placement, perf_by_rank_);
}

// The partitioner added the same times to the same devices in another order. Two sums of n terms
// that are not negative differ by less than the fraction 2 n 2^-53. The margin covers n = four
// million shards on a rank.
double NoopPerfModel::at_least(const Placement& placement) const {
  constexpr double kMargin = 1e-9;
  return placement.busiest_ms() * (1 - kMargin);
}

double NoopStorageModel::rate(std::span<const OptionId> proposal, const Placement& placement) {
  return rate_storage(proposal, placement, hbm_by_rank_);
}

}  // namespace shardwright::embedding
