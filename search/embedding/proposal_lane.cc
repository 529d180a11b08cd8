#include "search/embedding/proposal_lane.h"

#include "core/embedding/ranks_sha1.h"
#include "search/embedding/rate.h"

namespace shardwright::embedding {
namespace {

bool memory_balanced(const PartitionerSpec& spec) {
  return spec.type == PartitionerSpec::Type::kMemoryBalanced;
}

}  // namespace

ProposalLane::ProposalLane(const OptionPool& pool, const Topology& available)
    : pool_(&pool),
      perf_model_(pool.problem().spec().perf_model),
      memory_balanced_chosen_(memory_balanced(pool.problem().spec().partitioner)),
      placement_(pool, available),
      order_(pool,
             memory_balanced_chosen_ ? PartitionerSpec::SortBy::kPerf
                                     : pool.problem().spec().partitioner.sort_by,
             pool.problem().spec().partitioner.balance_modules),
      memory_balanced_(pool.problem().spec().partitioner),
      perf_by_rank_(available.world_size()),
      hbm_by_rank_(available.world_size()) {}

void ProposalLane::take(const ProposalBatch& batch, std::size_t index) {
  // Far ahead, or where a proposal is given in full, starting afresh is cheaper than walking.
  constexpr std::size_t kMaxWalk = 16;
  bool walk = taken_ != kNothing && index >= taken_ && index - taken_ <= kMaxWalk;
  for (std::size_t i = taken_; walk && i < index; ++i) walk = !batch.step(i + 1).full;
  if (!walk) {
    batch.expand(index, options_);
    order_.reset(options_);
    taken_ = index;
    return;
  }
  while (taken_ < index) {
    for (const ProposalChange& change : batch.changes(batch.step(++taken_))) {
      const OptionId before = options_[change.position];
      options_[change.position] = change.option;
      order_.change(options_, change.position, before);
    }
  }
}

void ProposalLane::start() {
  if (memory_balanced_chosen_) {
    feasible_ = memory_balanced_.partition(options_, order_, placement_);
  } else {
    greedy_.start(options_, order_, placement_);
  }
}

ProposalOutcome ProposalLane::finish() {
  if (!memory_balanced_chosen_) feasible_ = greedy_.feasible();
  return feasible_ ? ProposalOutcome{true, rate()} : ProposalOutcome{};
}

double ProposalLane::rate() {
  return perf_model_ == PerfModel::kPerf ? rate_perf(options_, placement_, perf_by_rank_)
                                         : rate_storage(options_, placement_, hbm_by_rank_);
}

std::vector<Rank> ProposalLane::ranks() const {
  std::vector<Rank> all;
  for (const OptionId id : options_) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by == PartitionBy::kUniform) {
      for (Rank rank = 0; rank < row.num_shards; ++rank) all.push_back(rank);
    } else {
      const auto own = placement_.ranks(row);
      all.insert(all.end(), own.begin(), own.end());
    }
  }
  return all;
}

std::string ProposalLane::ranks_sha1() const {
  RanksSha1 hash;
  for (const OptionId id : options_) {
    const OptionRow& row = pool_->row(id);
    if (row.partition_by == PartitionBy::kUniform) {
      hash.option_in_rank_order(row.num_shards);
    } else {
      hash.option(placement_.ranks(row));
    }
  }
  return hash.finish();
}

}  // namespace shardwright::embedding
