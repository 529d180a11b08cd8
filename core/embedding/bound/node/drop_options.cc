#include "core/embedding/bound/node/drop_options.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/embedding/bound/node/common_use.h"
#include "core/embedding/bound/node/lagrangian_sum.h"
#include "core/embedding/bound/options/bound_options.h"

namespace shardwright::embedding {
namespace {

// Thread safety: one thread at a time. Refers to its argument.
class CommonUseDrop {
 public:
  explicit CommonUseDrop(OpenOptions& options)
      : options_(options), classes_(options.classes()), common_(options) {}

  // Returns true if any option went, or may be in fewer classes than before.
  bool drop() {
    bool any = false;
    for (std::size_t table = 0; table < options_.num_tables(); ++table) {
      std::vector<OpenOption> kept;
      bool differs = false;
      for (const OpenOption& domain : options_.of_table(table)) {
        const std::uint32_t left = classes_left(table, domain);
        differs |= left != domain.classes;
        if (left != 0) kept.push_back({domain.option, left, domain.held});
      }
      if (differs) options_.set(table, std::move(kept));
      any |= differs;
    }
    return any;
  }

 private:
  bool fits_beside(std::size_t table, OptionId option, std::size_t run,
                   std::size_t rank_class) const {
    const ShardCost& cost = options_.space().option(option).costs[run];
    return classes_.fits(cost, rank_class) &&
           fits(classes_, rank_class,
                sum_of(common_.on_beside(rank_class, table), use_of(cost, classes_.perf_model())));
  }

  // The classes of the domain that the option may still be in. An option of several shards may be
  // in all of its classes, or nowhere.
  std::uint32_t classes_left(std::size_t table, const OpenOption& domain) const {
    const ShardingOption& option = options_.space().option(domain.option);
    const std::span<const ClassShards> by_class = options_.shards_by_class(domain.option);
    for (const ClassShards& shards : by_class) {
      if (!fits_beside(table, domain.option, shards.run, shards.rank_class)) return 0;
    }
    if (!by_class.empty()) return domain.classes;
    if (classes_.ranks_apart()) return ranks_left(table, domain);
    const bool in_one_place = option.num_shards() == 1 && is_free(option, options_.topology());
    const std::optional<std::uint32_t> counted = options_.counted_run(domain.option);
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      if (option.layout->extents[run].count == 0 || (counted && *counted != run)) continue;
      std::uint32_t here = 0;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if ((domain.classes >> c & 1) != 0 && fits_beside(table, domain.option, run, c))
          here |= std::uint32_t{1} << c;
      }
      if (here == 0 || in_one_place) return here;
    }
    return domain.classes;
  }

  // The ranks that have room for some shard; none if a rank that the option holds has not, or no
  // host has for one that fills hosts.
  std::uint32_t ranks_left(std::size_t table, const OpenOption& domain) const {
    const ShardingOption& option = options_.space().option(domain.option);
    const std::optional<std::uint32_t> counted = options_.counted_run(domain.option);
    std::uint32_t left = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      if (option.layout->extents[run].count == 0 || (counted && *counted != run)) continue;
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        if ((domain.classes >> c & 1) != 0 && fits_beside(table, domain.option, run, c))
          left |= std::uint32_t{1} << c;
      }
    }
    for (const std::uint32_t host : classes_.classes_of_host()) {
      if (counted && (host & ~left) != 0) left &= ~host;
    }
    return (domain.held & ~left) == 0 ? left : 0;
  }

  OpenOptions& options_;
  const CertifiedClasses& classes_;
  CommonUse common_;
};

}  // namespace

std::uint64_t drop_by_common_use(OpenOptions& options) {
  constexpr std::uint64_t kMaxRounds = 16;
  std::uint64_t rounds = 1;
  while (CommonUseDrop(options).drop() && rounds < kMaxRounds)
    ++rounds;
  return rounds;
}

void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers) {
  const LagrangianSum sum(options, multipliers);
  std::vector<std::pair<std::size_t, std::vector<OpenOption>>> changed;
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    std::vector<OpenOption> kept;
    bool differs = false;
    for (OpenOption own : options.of_table(table)) {
      const std::uint32_t before = own.classes;
      const bool has_ranks =
          options.classes().ranks_apart() && options.shards_by_class(own.option).empty();
      if (sum.excludes(table, own)) {
        own.classes = 0;
      } else if (has_ranks) {
        own.classes = sum.affordable_ranks(table, own);
      }
      differs |= own.classes != before;
      if (own.classes != 0) kept.push_back(own);
    }
    if (differs) changed.emplace_back(table, std::move(kept));
  }
  for (auto& [table, kept] : changed)
    options.set(table, std::move(kept));
}

}  // namespace shardwright::embedding
