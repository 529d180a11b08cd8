#include "search/embedding/proposal_lane.h"

#include <algorithm>
#include <limits>

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
      hbm_by_rank_(available.world_size()) {
  options_.reserve(pool.tables().size());
  previous_.reserve(pool.tables().size());
  changed_positions_.reserve(pool.tables().size());
}

void ProposalLane::take(const ProposalBatch& batch, std::size_t index) {
  constexpr std::size_t kMaxWalk = 16;  // beyond, merging the changes is cheaper than one by one
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
  if (memory_balanced_chosen_) {
    feasible_ = memory_balanced_.partition(options_, order_, placement_);
  } else {
    greedy_.start(options_, order_, placement_);
  }
}

ProposalOutcome ProposalLane::finish(double bound) {
  if (!memory_balanced_chosen_) feasible_ = greedy_.feasible();
  if (!feasible_) return {};
  if (surely_above(bound)) return {true, std::numeric_limits<double>::infinity()};
  return {true, rate()};
}

// The partitioner added the same times to the same devices, in another order: the two sums of n
// terms that are not negative differ by less than 2 n 2^-53 of their size. The margin covers four
// million shards on one rank.
bool ProposalLane::surely_above(double bound) const {
  constexpr double kMargin = 1e-9;
  return perf_model_ == PerfModel::kPerf && !memory_balanced_chosen_ &&
         placement_.busiest_ms() * (1 - kMargin) > bound;
}

double ProposalLane::rate() {
  return perf_model_ == PerfModel::kPerf ? rate_perf(options_, placement_, perf_by_rank_)
                                         : rate_storage(options_, placement_, hbm_by_rank_);
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
