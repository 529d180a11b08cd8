#include "core/embedding/bound/node/lagrangian_sum.h"

#include <algorithm>
#include <limits>
#include <span>

#include "core/embedding/bound/node/rank_use.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// All shards of an option, each on the cheapest class that its domain allows, rounded down.
double all_shards_of(const OpenOptions& options, const OpenOption& domain,
                     const std::vector<CapacityMultipliers>& multipliers) {
  const CertifiedClasses& classes = options.classes();
  const std::span<const RunUse> runs = options.runs(domain.option);
  const auto cost = [&](std::size_t run, std::size_t rank_class) {
    return cost_at(multipliers[rank_class], runs[run].use);
  };
  double sum = 0;
  for (const ClassShards& shards : options.shards_by_class(domain.option))
    sum = add_down(sum, multiply_down(shards.count, cost(shards.run, shards.rank_class)));
  if (!options.shards_by_class(domain.option).empty()) return sum;
  const auto add = [&](std::size_t run, std::int64_t count) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < multipliers.size(); ++c) {
      if ((domain.classes >> c & 1) == 0 || !classes.fits(runs[run].use, c)) continue;
      least = std::min(least, cost(run, c));
    }
    sum = add_down(sum, multiply_down(static_cast<double>(count), least));
  };
  if (const std::optional<std::uint32_t> counted = options.counted_run(domain.option)) {
    add(*counted, options.space().option(domain.option).num_shards());
    return sum;
  }
  for (std::size_t run = 0; run < runs.size(); ++run)
    add(run, runs[run].count);
  return sum;
}

// The capacity of one rank at the multipliers of its class, rounded up.
double capacity_of(const CertifiedClasses& classes, std::size_t rank_class,
                   const CapacityMultipliers& multipliers) {
  const Storage& room = classes.room(rank_class);
  double sum = multiply_up(multipliers.load, classes.load_limit(rank_class));
  for (const MemoryTier tier : kMemoryTiers)
    sum = add_up(sum, multiply_up(multipliers[tier], rounded_up(room[tier].value())));
  return sum;
}

}  // namespace

LagrangianSum::LagrangianSum(const OpenOptions& options,
                             const std::vector<CapacityMultipliers>& multipliers) {
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    const std::vector<OpenOption>& open = options.of_table(table);
    double least = open.empty() ? 0 : std::numeric_limits<double>::infinity();
    first_.push_back(costs_.size());
    for (const OpenOption& domain : open) {
      costs_.push_back(all_shards_of(options, domain, multipliers));
      least = std::min(least, costs_.back());
    }
    least_.push_back(least);
    needed_ = add_down(needed_, least);
  }
  const CertifiedClasses& classes = options.classes();
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double own = capacity_of(classes, c, multipliers[c]);
    capacity_ = add_up(capacity_, multiply_up(classes.num_ranks(c), own));
  }
}

bool LagrangianSum::excludes(std::size_t table, std::size_t option) const {
  const double others = add_down(needed_, -least_[table]);
  return add_down(others, costs_[first_[table] + option]) > capacity_;
}

}  // namespace shardwright::embedding
