#include "core/embedding/bound/drop_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/embedding/bound/lagrangian_sum.h"
#include "core/embedding/bound/options/bound_options.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

// What a table, or several, put on every rank of a class at least, rounded down.
struct RankUse {
  double load = 0;
  PerTier<double> bytes = {};
};

RankUse use_of(const ShardCost& cost, PerfModel model) {
  RankUse use{load_of(cost, model)};
  for (const MemoryTier tier : kMemoryTiers)
    use.bytes[tier] = rounded_down(cost.storage[tier].value());
  return use;
}

// Combines load and every tier of memory.
template <class Combine>
RankUse combined(const RankUse& a, const RankUse& b, const Combine& combine) {
  RankUse use{combine(a.load, b.load)};
  for (const MemoryTier tier : kMemoryTiers)
    use.bytes[tier] = combine(a.bytes[tier], b.bytes[tier]);
  return use;
}

RankUse least_of(const RankUse& a, const RankUse& b) {
  return combined(a, b, [](double x, double y) { return std::min(x, y); });
}

RankUse sum_of(const RankUse& a, const RankUse& b) { return combined(a, b, add_down); }

RankUse without(const RankUse& all, const RankUse& own) {
  return combined(all, own, [](double x, double y) { return add_down(x, -y); });
}

// Thread safety: one thread at a time. Refers to its argument.
class CommonUse {
 public:
  explicit CommonUse(OpenOptions& options) : options_(options), classes_(options.classes()) {
    all_.resize(classes_.size());
    for (std::size_t table = 0; table < options.num_tables(); ++table) {
      of_table_.push_back(use_of_table(table));
      for (std::size_t c = 0; c < of_table_.back().size(); ++c)
        all_[c] = sum_of(all_[c], of_table_.back()[c]);
    }
  }

  // Returns true if any option went, or may be in fewer classes than before.
  bool drop() {
    bool any = false;
    for (std::size_t table = 0; table < options_.num_tables(); ++table) {
      std::vector<OptionDomain> kept;
      bool differs = false;
      for (const OptionDomain& domain : options_.of_table(table)) {
        const std::uint32_t left = classes_left(table, domain);
        differs |= left != domain.classes;
        if (left != 0) kept.push_back({domain.option, left});
      }
      if (differs) options_.set(table, std::move(kept));
      any |= differs;
    }
    return any;
  }

 private:
  // By class; empty unless every open option has a shard on every rank.
  std::vector<RankUse> use_of_table(std::size_t table) const {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    std::vector<RankUse> least(classes_.size(), RankUse{kMost, {kMost, kMost, kMost}});
    const std::vector<OptionDomain>& open = options_.of_table(table);
    if (open.empty()) return {};
    for (const OptionDomain& domain : open) {
      const std::span<const ClassShards> by_class = options_.shards_by_class(domain.option);
      if (by_class.empty()) return {};
      for (const ClassShards& shards : by_class) {
        RankUse& own = least[shards.rank_class];
        own = least_of(own, use_of(cost_of(domain.option, shards.run), classes_.perf_model()));
      }
    }
    return least;
  }

  const ShardCost& cost_of(OptionId option, std::size_t run) const {
    return options_.space().option(option).costs[run];
  }

  bool fits(std::size_t table, OptionId option, std::size_t run, std::size_t rank_class) const {
    const ShardCost& cost = cost_of(option, run);
    if (!classes_.fits(cost, rank_class)) return false;
    const std::vector<RankUse>& own = of_table_[table];
    const RankUse others =
        own.empty() ? all_[rank_class] : without(all_[rank_class], own[rank_class]);
    const RankUse use = sum_of(others, use_of(cost, classes_.perf_model()));
    const Storage& room = classes_.room(rank_class);
    return use.load < classes_.load_limit(rank_class) &&
           std::all_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
             return use.bytes[tier] <= rounded_up(room[tier].value());
           });
  }

  // The classes of the domain that the option may still be in. An option of several shards may be
  // in all of its classes, or nowhere.
  std::uint32_t classes_left(std::size_t table, const OptionDomain& domain) const {
    const ShardingOption& option = options_.space().option(domain.option);
    const std::span<const ClassShards> by_class = options_.shards_by_class(domain.option);
    for (const ClassShards& shards : by_class) {
      if (!fits(table, domain.option, shards.run, shards.rank_class)) return 0;
    }
    if (!by_class.empty()) return domain.classes;
    const bool in_one_place = option.num_shards() == 1 && is_free(option, options_.topology());
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      if (option.layout->extents[run].count == 0) continue;
      std::uint32_t here = 0;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if ((domain.classes >> c & 1) != 0 && fits(table, domain.option, run, c))
          here |= std::uint32_t{1} << c;
      }
      if (here == 0 || in_one_place) return here;
    }
    return domain.classes;
  }

  OpenOptions& options_;
  const CertifiedClasses& classes_;
  std::vector<std::vector<RankUse>> of_table_;
  std::vector<RankUse> all_;  // by class
};

}  // namespace

std::uint64_t drop_by_common_use(OpenOptions& options) {
  constexpr std::uint64_t kMaxRounds = 16;
  std::uint64_t rounds = 1;
  while (CommonUse(options).drop() && rounds < kMaxRounds)
    ++rounds;
  return rounds;
}

void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers) {
  const LagrangianSum sum(options, multipliers);
  std::vector<std::pair<std::size_t, std::vector<OptionDomain>>> changed;
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    std::vector<OptionDomain> kept;
    for (const OptionDomain& domain : options.of_table(table)) {
      if (!sum.excludes(table, domain)) kept.push_back(domain);
    }
    if (kept.size() < options.of_table(table).size()) changed.emplace_back(table, std::move(kept));
  }
  for (auto& [table, kept] : changed)
    options.set(table, std::move(kept));
}

}  // namespace shardwright::embedding
