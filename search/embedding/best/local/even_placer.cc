#include "search/embedding/best/local/even_placer.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace shardwright::embedding {
namespace {

constexpr double kRiseRounding = 1e-12;
constexpr std::uint64_t kLookWork = 12;  // for the ranks of a block
constexpr double kNoLoad = 1e-150;       // its square underflows

// By how much the square of `held` rises, both relative to `all`.
double squares(double held, double added, double all) {
  return added * (2 * held + added) / (all * all);
}

}  // namespace

EvenPlacer::EvenPlacer(AllocationState& state, const EvenWeights& weights,
                       const ConstructParameters& parameters)
    : state_(&state),
      block_size_(parameters.ranks_per_block),
      load_weight_(weights.mean_load > kNoLoad ? 1 / (weights.mean_load * weights.mean_load) : 0),
      weights_(weights.bytes),
      blocks_((state.ranks().size() + block_size_ - 1) / block_size_),
      work_(state.pass_work()) {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    summarize(i);
}

Rank EvenPlacer::place(const ShardUse& use) {
  constexpr std::size_t kBlocksPerUpdate = 2;
  constexpr std::uint64_t kSummary = 8;  // and the update of the rank
  work_ += kSummary + blocks_.size() / kBlocksPerUpdate;
  std::size_t first = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].least_rise = least_rise(blocks_[i], use);
    if (blocks_[i].least_rise < blocks_[first].least_rise) first = i;
  }
  Rank best = 0;
  double least = std::numeric_limits<double>::infinity();
  look_into(first, use, best, least);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool may_hold_less = blocks_[i].least_rise * (1 + kRiseRounding) < least;
    if (i != first && may_hold_less) look_into(i, use, best, least);
  }
  state_->add(best, use);
  state_->keep();
  summarize(best / block_size_);
  return best;
}

Rank EvenPlacer::end_of(std::size_t block) const {
  return static_cast<Rank>(std::min((block + 1) * block_size_, state_->ranks().size()));
}

void EvenPlacer::summarize(std::size_t block) {
  Rank rank = first_of(block);
  Block& sum = blocks_[block];
  sum.least = state_->ranks()[rank];
  sum.scale = state_->scaled(rank, 1);
  for (++rank; rank < end_of(block); ++rank) {
    const RankLoad& at = state_->ranks()[rank];
    sum.least.load = std::min(sum.least.load, at.load);
    const Storage held = least_of(sum.least.held(), at.held());
    sum.least.capacity = most_of(sum.least.capacity, at.capacity);
    sum.least.left = sum.least.capacity - held;
    sum.scale = std::min(sum.scale, state_->scaled(rank, 1));
  }
}

// A lower bound: it leaves out what the goal adds for memory and rules.
double EvenPlacer::least_rise(const Block& block, const ShardUse& use) const {
  const Goal& goal = state_->goal();
  double rise = squares_rise(block.least, block.scale * use.load, use);
  if (goal.squared && goal.target <= 0)
    rise += squares(block.least.load, block.scale * use.load, goal.scale);
  return rise;
}

void EvenPlacer::look_into(std::size_t block, const ShardUse& use, Rank& best, double& least) {
  const Rank end = end_of(block);
  work_ += kLookWork;
  for (Rank rank = first_of(block); rank < end; ++rank) {
    const double rise = squares_rise(state_->ranks()[rank], state_->scaled(rank, use.load), use) +
                        state_->gain(rank, use);
    if (rise < least || (rise == least && rank < best)) {
      least = rise;
      best = rank;
    }
  }
}

double EvenPlacer::squares_rise(const RankLoad& at, double load, const ShardUse& use) const {
  double rise = load * (2 * at.load + load) * load_weight_;
  // Spelled out: this is the innermost loop of placing.
  const auto add = [&](double weight, Bytes capacity, Bytes left, Bytes more) {
    if (weight <= 0) return;
    rise += weight * squares(static_cast<double>((capacity - left).value()),
                             static_cast<double>(more.value()),
                             static_cast<double>(std::max(capacity, Bytes(1)).value()));
  };
  add(weights_.hbm, at.capacity.hbm, at.left.hbm, use.storage.hbm);
  add(weights_.ddr, at.capacity.ddr, at.left.ddr, use.storage.ddr);
  add(weights_.ssd, at.capacity.ssd, at.left.ssd, use.storage.ssd);
  return rise;
}

}  // namespace shardwright::embedding
