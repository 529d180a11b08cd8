#include "core/embedding/bound/node/placed_cost.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>

#include "core/embedding/bound/node/rank_use.h"
#include "core/embedding/bound/options/bound_options.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Thread safety: immutable. Refers to its arguments.
class PlacedCost {
 public:
  PlacedCost(const OpenOptions& options, const OpenOption& own,
             const std::vector<CapacityMultipliers>& multipliers)
      : classes_(options.classes()),
        own_(own),
        runs_(options.runs(own.option)),
        num_shards_(options.space().option(own.option).num_shards()),
        multipliers_(multipliers) {}

  // `run`: the shard that stands for all.
  double on_all_ranks(std::uint32_t run) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      sum = add_down(sum, at(run, c));
    return add_down(sum, extras_within(run, classes_.all(), 1));
  }

  // In blocks, each of which has a shard on every rank of a host.
  double on_whole_hosts(std::uint32_t run, std::uint32_t local) const {
    const Blocks blocks = blocks_of(run, local);
    return blocks.held > blocks.count ? kInfinity : blocks.sum;
  }
  RankSums with_block_on(std::uint32_t run, std::uint32_t local) const {
    const Blocks blocks = blocks_of(run, local);
    RankSums sums = unlimited();
    for (const std::uint32_t host : classes_.classes_of_host()) {
      const bool is_held = (own_.held & host) != 0;
      if (blocks.held + (is_held ? 0 : 1) > blocks.count || blocks.sum == kInfinity) continue;
      const double more = is_held ? 0 : add_down(block_on(run, host, blocks.count), -blocks.least);
      set(host, add_down(blocks.sum, std::max(0.0, more)), sums);
    }
    return sums;
  }

  double on_one_host() const {
    double least = kInfinity;
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if ((own_.held & ~host) == 0) least = std::min(least, within(host));
    }
    return least;
  }
  RankSums with_shard_on_one_host() const {
    RankSums sums = unlimited();
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if ((own_.held & ~host) != 0) continue;
      const RankSums own = with_shard_on(host);
      for (std::size_t c = 0; c < classes_.size(); ++c)
        sums[c] = (host >> c & 1) != 0 ? own[c] : sums[c];
    }
    return sums;
  }

  // On any of these ranks that the domain allows.
  double within(std::uint32_t ranks) const {
    RankSums extra;
    const double sum = sum_within(ranks, extra);
    return num_held() > num_shards_ ? kInfinity : sum;
  }
  RankSums with_shard_on(std::uint32_t ranks) const {
    RankSums extra;
    const double sum = sum_within(ranks, extra);
    RankSums sums = unlimited();
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      const bool is_held = (own_.held >> c & 1) != 0;
      if (num_held() + (is_held ? 0 : 1) > num_shards_) continue;
      sums[c] = is_held ? sum : add_down(sum, std::max(0.0, extra[c]));
    }
    return sums;
  }

 private:
  struct Blocks {
    std::uint32_t count = 0;
    std::uint32_t held = 0;
    double least = kInfinity;  // that one takes
    double sum = 0;
  };

  // What larger shards take belongs to a block if there is only one.
  Blocks blocks_of(std::uint32_t run, std::uint32_t local) const {
    Blocks blocks;
    blocks.count = num_shards_ / local;
    for (const std::uint32_t host : classes_.classes_of_host())
      blocks.least = std::min(blocks.least, block_on(run, host, blocks.count));
    blocks.sum = multiply_down(blocks.count, blocks.least);
    if (blocks.count > 1)
      blocks.sum = add_down(blocks.sum, extras_within(run, classes_.all(), blocks.count));
    if (blocks.least == kInfinity) blocks.sum = kInfinity;
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if ((own_.held & host) == 0 || blocks.least == kInfinity) continue;
      const double more = add_down(block_on(run, host, blocks.count), -blocks.least);
      blocks.sum = add_down(blocks.sum, more);
      ++blocks.held;
    }
    return blocks;
  }

  static RankSums unlimited() {
    RankSums sums;
    sums.fill(kInfinity);
    return sums;
  }
  static void set(std::uint32_t ranks, double value, RankSums& sums) {
    for (std::size_t c = 0; c < sums.size(); ++c)
      sums[c] = (ranks >> c & 1) != 0 ? value : sums[c];
  }
  std::uint32_t num_held() const { return static_cast<std::uint32_t>(std::popcount(own_.held)); }

  // `extra`: what a shard takes on a rank beyond the cheapest one.
  double sum_within(std::uint32_t ranks, RankSums& extra) const {
    extra = unlimited();
    double sum = 0;
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      const std::uint32_t count = runs_[run].count;
      if (count == 0) continue;
      RankSums cost = unlimited();
      double least = kInfinity;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        cost[c] = at(run, c);
        if ((ranks >> c & 1) != 0) least = std::min(least, cost[c]);
      }
      if (least == kInfinity) return kInfinity;
      sum = add_down(sum, multiply_down(count, least));
      for (std::size_t c = 0; c < classes_.size(); ++c)
        extra[c] = std::min(extra[c], add_down(cost[c], -least));
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if ((own_.held >> c & 1) != 0) sum = add_down(sum, std::max(0.0, extra[c]));
    }
    return sum;
  }

  // Infinite where the shard cannot be.
  double at(std::uint32_t run, std::size_t c) const {
    if ((own_.classes >> c & 1) == 0 || !classes_.fits(runs_[run].use, c)) return kInfinity;
    return cost_at(multipliers_[c], runs_[run].use);
  }

  double block_on(std::uint32_t run, std::uint32_t host, std::uint32_t blocks) const {
    const double sum = on_host(run, host);
    return blocks > 1 ? sum : add_down(sum, extras_within(run, host, 1));
  }

  // What shards take that are larger than those of `smallest`, which count on every rank: their
  // differences, each on the cheapest of these ranks. A rank has one shard of each part, so those
  // of one part are on different ranks. Infinite if there are too few.
  double extras_within(std::uint32_t smallest, std::uint32_t ranks, std::uint32_t parts) const {
    double sum = 0;
    for (std::uint32_t run = 0; run < runs_.size(); ++run) {
      const std::uint32_t count = runs_[run].count;
      if (count == 0 || run == smallest) continue;
      RankSums extra = unlimited();
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        const double own = (ranks >> c & 1) != 0 ? at(run, c) : kInfinity;
        if (own < kInfinity) extra[c] = add_down(own, -at(smallest, c));
      }
      const std::uint32_t different = parts == 1 ? count : 1;
      const auto dearest = extra.begin() + different;
      std::nth_element(extra.begin(), dearest - 1, extra.begin() + classes_.size());
      for (auto own = extra.begin(); own != dearest; ++own)
        sum = add_down(sum, multiply_down(parts == 1 ? 1 : count, *own));
    }
    return sum;
  }

  double on_host(std::uint32_t run, std::uint32_t host) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if ((host >> c & 1) != 0) sum = add_down(sum, at(run, c));
    }
    return sum;
  }

  const CertifiedClasses& classes_;
  const OpenOption& own_;
  std::span<const RunUse> runs_;
  std::uint32_t num_shards_;
  const std::vector<CapacityMultipliers>& multipliers_;
};

bool is_in_one_host(const OpenOptions& options, OptionId id) {
  const ShardingOption& option = options.space().option(id);
  return !is_free(option, options.topology()) && !fills_hosts(option, options.topology()) &&
         !is_on_all_ranks(option, options.topology());
}

}  // namespace

double placed_cost(const OpenOptions& options, const OpenOption& own,
                   const std::vector<CapacityMultipliers>& multipliers) {
  const PlacedCost cost(options, own, multipliers);
  const std::span<const ClassShards> by_class = options.shards_by_class(own.option);
  if (!by_class.empty()) return cost.on_all_ranks(by_class.front().run);
  if (const std::optional<std::uint32_t> run = options.counted_run(own.option))
    return cost.on_whole_hosts(*run, options.topology().local_world_size());
  if (is_in_one_host(options, own.option)) return cost.on_one_host();
  return cost.within(options.classes().all());
}

RankSums placed_costs(const OpenOptions& options, const OpenOption& own,
                      const std::vector<CapacityMultipliers>& multipliers) {
  const PlacedCost cost(options, own, multipliers);
  if (const std::optional<std::uint32_t> run = options.counted_run(own.option))
    return cost.with_block_on(*run, options.topology().local_world_size());
  if (is_in_one_host(options, own.option)) return cost.with_shard_on_one_host();
  return cost.with_shard_on(options.classes().all());
}

}  // namespace shardwright::embedding
