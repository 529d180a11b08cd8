#include "search/embedding/proposal_evaluator.h"

#include "core/embedding/ranks_sha1.h"

namespace shardwright::embedding {
namespace {

PartitionerSpec::SortBy sort_by(const PartitionerSpec& spec) {
  return spec.type == PartitionerSpec::Type::kMemoryBalanced ? PartitionerSpec::SortBy::kPerf
                                                             : spec.sort_by;
}

}  // namespace

ProposalEvaluator::ProposalEvaluator(const OptionPool& pool, const Topology& available)
    : pool_(&pool),
      partitioner_(pool.problem().spec().partitioner),
      perf_model_(pool.problem().spec().perf_model),
      placement_(pool, available),
      order_(pool, sort_by(partitioner_), partitioner_.balance_modules),
      memory_balanced_(partitioner_),
      perf_by_rank_(available.world_size()),
      hbm_by_rank_(available.world_size()) {}

void ProposalEvaluator::take(const ProposalBatch& batch, std::size_t index) {
  const ProposalBatch::Step& step = batch.step(index);
  if (taken_ != kNothing && index == taken_ + 1 && !step.full) {
    for (const ProposalChange& change : batch.changes(step)) {
      const OptionId before = options_[change.position];
      options_[change.position] = change.option;
      order_.change(options_, change.position, before);
    }
  } else if (index != taken_) {
    batch.expand(index, options_);
    order_.reset(options_);
  }
  taken_ = index;
}

bool ProposalEvaluator::partition() {
  return partitioner_.type == PartitionerSpec::Type::kMemoryBalanced
             ? memory_balanced_.partition(options_, order_, placement_)
             : greedy_.partition(options_, order_, placement_);
}

ProposalOutcome ProposalEvaluator::evaluate() {
  if (!partition()) return {};
  const double rating = perf_model_ == PerfModel::kPerf
                            ? rate_perf(options_, placement_, perf_by_rank_)
                            : rate_storage(options_, placement_, hbm_by_rank_);
  return {true, rating};
}

std::uint32_t ProposalEvaluator::failed_position() const {
  return partitioner_.type == PartitionerSpec::Type::kMemoryBalanced
             ? memory_balanced_.failed_position()
             : greedy_.failed_position();
}

std::vector<Rank> ProposalEvaluator::ranks() const {
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

std::string ProposalEvaluator::ranks_sha1() const {
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
