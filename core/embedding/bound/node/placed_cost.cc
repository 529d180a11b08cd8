#include "core/embedding/bound/node/placed_cost.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

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
        option_(options.space().option(own.option)),
        multipliers_(multipliers) {}

  // `run`: the shard that stands for all.
  double on_all_ranks(std::uint32_t run) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
      sum = add_down(sum, at(run, c));
    return sum;
  }

  // In blocks, each of which has a shard on every rank of a host.
  double on_whole_hosts(std::uint32_t run, std::uint32_t local) const {
    double least = kInfinity;
    for (const std::uint32_t host : classes_.classes_of_host())
      least = std::min(least, on_host(run, host));
    const std::uint32_t blocks = option_.num_shards() / local;
    double sum = multiply_down(blocks, least);
    std::uint32_t held = 0;
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if ((own_.held & host) == 0) continue;
      sum = add_down(sum, add_down(on_host(run, host), -least));
      ++held;
    }
    return held > blocks || least == kInfinity ? kInfinity : sum;
  }

  double on_one_host() const {
    double least = kInfinity;
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if ((own_.held & ~host) == 0) least = std::min(least, within(host));
    }
    return least;
  }

  // On any of these ranks that the domain allows.
  double within(std::uint32_t ranks) const {
    if (static_cast<std::uint32_t>(std::popcount(own_.held)) > option_.num_shards())
      return kInfinity;
    double sum = 0;
    std::vector<double> extra(classes_.size(), kInfinity);  // of a shard that must be there
    for (std::uint32_t run = 0; run < option_.costs.size(); ++run) {
      const std::uint32_t count = option_.layout->extents[run].count;
      if (count == 0) continue;
      double least = kInfinity;
      for (std::size_t c = 0; c < classes_.size(); ++c)
        least = std::min(least, (ranks >> c & 1) != 0 ? at(run, c) : kInfinity);
      if (least == kInfinity) return kInfinity;
      sum = add_down(sum, multiply_down(count, least));
      for (std::size_t c = 0; c < classes_.size(); ++c)
        extra[c] = std::min(extra[c], add_down(at(run, c), -least));
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if ((own_.held >> c & 1) != 0) sum = add_down(sum, std::max(0.0, extra[c]));
    }
    return sum;
  }

 private:
  // Infinite where the shard cannot be.
  double at(std::uint32_t run, std::size_t c) const {
    if ((own_.classes >> c & 1) == 0 || !classes_.fits(option_.costs[run], c)) return kInfinity;
    return cost_at(multipliers_[c], option_.costs[run], classes_.perf_model());
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
  const ShardingOption& option_;
  const std::vector<CapacityMultipliers>& multipliers_;
};

}  // namespace

double cost_at(const CapacityMultipliers& multipliers, const ShardCost& cost, PerfModel model) {
  double sum = multiply_down(multipliers.load, load_of(cost, model));
  for (const MemoryTier tier : kMemoryTiers) {
    const double bytes = rounded_down(cost.storage[tier].value());
    sum = add_down(sum, multiply_down(multipliers[tier], bytes));
  }
  return sum;
}

double placed_cost(const OpenOptions& options, const OpenOption& own,
                   const std::vector<CapacityMultipliers>& multipliers) {
  const PlacedCost cost(options, own, multipliers);
  const std::span<const ClassShards> by_class = options.shards_by_class(own.option);
  if (!by_class.empty()) return cost.on_all_ranks(by_class.front().run);
  if (const std::optional<std::uint32_t> run = options.counted_run(own.option))
    return cost.on_whole_hosts(*run, options.topology().local_world_size());
  const ShardingOption& option = options.space().option(own.option);
  const bool in_one_host = !is_free(option, options.topology()) &&
                           !fills_hosts(option, options.topology()) &&
                           !is_on_all_ranks(option, options.topology());
  return in_one_host ? cost.on_one_host() : cost.within(options.classes().all());
}

}  // namespace shardwright::embedding
