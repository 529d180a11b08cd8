#include "search/embedding/compat/proposal_lane.h"

#include <algorithm>
#include <limits>

#include "core/embedding/ranks_sha1.h"

namespace shardwright::embedding {
namespace {

std::unique_ptr<Partitioner> partitioner_of(const SearchParts& parts, const Problem& problem) {
  auto partitioner =
      parts.partitioner ? parts.partitioner(problem) : make_partitioner(problem.spec().partitioner);
  SHARDWRIGHT_CHECK(partitioner != nullptr);
  return partitioner;
}

std::unique_ptr<RatingModel> rating_model_of(const SearchParts& parts, const Problem& problem) {
  auto model = parts.rating_model
                   ? parts.rating_model(problem)
                   : make_rating_model(problem.spec().perf_model, problem.topology().world_size());
  SHARDWRIGHT_CHECK(model != nullptr);
  return model;
}

}  // namespace

ProposalLane::ProposalLane(const OptionPool& pool, const Topology& available,
                           const SearchParts& parts)
    : pool_(&pool),
      partitioner_(partitioner_of(parts, pool.problem())),
      greedy_(dynamic_cast<GreedyPerfPartitioner*>(partitioner_.get())),
      rating_model_(rating_model_of(parts, pool.problem())),
      placement_(pool, available),
      order_(pool, partitioner_->sort_by(), pool.problem().spec().partitioner.balance_modules) {
  options_.reserve(pool.tables().size());
  previous_.reserve(pool.tables().size());
  changed_positions_.reserve(pool.tables().size());
}

void ProposalLane::take(const ProposalBatch& batch, std::size_t index) {
  constexpr std::size_t kMaxWalk = 16;  // with more steps, merging changes is faster
  bool near = taken_ != kNothing && index >= taken_ && index - taken_ <= kMaxWalk;
  for (std::size_t i = taken_; near && i < index; ++i)
    near = !batch.step(i + 1).full;
  if (near) {
    walk(batch, index);
  } else {
    jump(batch, index);
  }
  taken_ = index;
}

void ProposalLane::walk(const ProposalBatch& batch, std::size_t index) {
  for (std::size_t i = taken_ + 1; i <= index; ++i) {
    for (const ProposalChange& change : batch.changes(batch.step(i))) {
      const OptionId before = options_[change.position];
      options_[change.position] = change.option;
      order_.change(options_, change.position, before);
    }
  }
}

void ProposalLane::jump(const ProposalBatch& batch, std::size_t index) {
  previous_.swap(options_);
  batch.expand(index, options_);
  if (options_.size() != previous_.size()) return order_.reset(options_);
  changed_positions_.clear();
  for (std::uint32_t position = 0; position < options_.size(); ++position) {
    if (options_[position] != previous_[position]) changed_positions_.push_back(position);
  }
  order_.change_many(options_, changed_positions_);
}

void ProposalLane::start() {
  if (greedy_ != nullptr) {
    greedy_->start(options_, order_, placement_);
  } else {
    feasible_ = partitioner_->partition(options_, order_, placement_);
  }
}

ProposalOutcome ProposalLane::finish(double bound) {
  if (greedy_ != nullptr) feasible_ = greedy_->feasible();
  if (!feasible_) return {};
  if (greedy_ != nullptr && rating_model_->at_least(placement_) > bound) {
    return {true, std::numeric_limits<double>::infinity()};
  }
  return {true, rating_model_->rate(options_, placement_)};
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
