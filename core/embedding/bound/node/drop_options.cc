#include "core/embedding/bound/node/drop_options.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/bound/node/lagrangian_sum.h"
#include "core/embedding/bound/options/bound_options.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

constexpr double kMost = std::numeric_limits<double>::infinity();
constexpr RankUse kLargest{kMost, {kMost, kMost, kMost}};

// Thread safety: one thread at a time. Refers to its argument.
class CommonUseDrop {
 public:
  explicit CommonUseDrop(OpenOptions& options)
      : options_(options),
        classes_(options.classes()),
        common_(options),
        beside_(classes_.size()) {}

  // Returns true if any option went, or may be in fewer classes than before.
  bool drop() {
    bool any = false;
    for (std::size_t table = 0; table < options_.num_tables(); ++table)
      any |= drop_of(table);
    return any;
  }

 private:
  bool drop_of(std::size_t table) {
    const RankUse largest = largest_of(table);
    roomy_ = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (has_room_for(largest, c)) {
        roomy_ |= std::uint32_t{1} << c;
      } else {
        beside_[c] = common_.on_beside(c, table);
      }
    }
    left_.clear();
    bool differs = false;
    for (const OpenOption& domain : options_.of_table(table)) {
      left_.push_back(classes_left(domain));
      differs |= left_.back() != domain.classes;
    }
    if (differs) options_.restrict_to(table, left_);
    return differs;
  }

  // Beside all tables, this one included. Needs no directed rounding: an error here only keeps an
  // option, and that is safe.
  bool has_room_for(const RankUse& use, std::size_t rank_class) const {
    const RankUse& all = common_.on(rank_class);
    if (all.load + use.load >= classes_.load_limit(rank_class)) return false;
    const Storage& room = classes_.room(rank_class);
    return std::all_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
      return all.bytes[tier] + use.bytes[tier] <= static_cast<double>(room[tier].value());
    });
  }

  // The most that a shard of an open option takes, of load and every memory.
  RankUse largest_of(std::size_t table) const {
    RankUse largest;
    for (const OpenOption& domain : options_.of_table(table)) {
      for (const RunUse& run : options_.runs(domain.option)) {
        if (run.count > 0) largest = most_of(largest, run.use);
      }
    }
    return largest;
  }

  // The classes, of these, that have room for the shard beside all other tables.
  std::uint32_t with_room(const RunUse& run, std::uint32_t classes) const {
    std::uint32_t left = classes & roomy_;
    for (std::uint32_t open = classes & ~roomy_; open != 0; open &= open - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(open));
      if (classes_.fits(run.use, c) && classes_.fits(sum_of(beside_[c], run.use), c))
        left |= std::uint32_t{1} << c;
    }
    return left;
  }

  // The classes of the domain that the option may still be in. An option of several shards may be
  // in all of its classes, or nowhere.
  std::uint32_t classes_left(const OpenOption& domain) const {
    const std::span<const RunUse> runs = options_.runs(domain.option);
    const std::span<const ClassShards> by_class = options_.shards_by_class(domain.option);
    for (const ClassShards& shards : by_class) {
      const std::uint32_t own = std::uint32_t{1} << shards.rank_class;
      if (with_room(runs[shards.run], own) == 0) return 0;
    }
    if (!by_class.empty()) return domain.classes;
    const ShardingOption& option = options_.space().option(domain.option);
    const bool in_one_place = option.num_shards() == 1 && is_free(option, options_.topology());
    const std::optional<std::uint32_t> counted = options_.counted_run(domain.option);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      if (runs[run].count == 0 || (counted && *counted != run)) continue;
      const std::uint32_t here = with_room(runs[run], domain.classes);
      if (here == 0 || in_one_place) return here;
    }
    return domain.classes;
  }

  OpenOptions& options_;
  const CertifiedClasses& classes_;
  CommonUse common_;
  // Of the current table:
  std::uint32_t roomy_ = 0;          // classes with room for every shard
  std::vector<RankUse> beside_;      // what all other tables use, by class that is not roomy
  std::vector<std::uint32_t> left_;  // by option
};

}  // namespace

CommonUse::CommonUse(const OpenOptions& options) : all_(options.classes().size()) {
  for (std::size_t table = 0; table < options.num_tables(); ++table)
    of_table_.push_back(use_of_table(options, table));
  for (const std::vector<RankUse>& own : of_table_) {
    for (std::size_t c = 0; c < own.size(); ++c)
      all_[c] = sum_of(all_[c], own[c]);
  }
}

RankUse CommonUse::on_beside(std::size_t rank_class, std::size_t table) const {
  const std::vector<RankUse>& own = of_table_[table];
  return own.empty() ? all_[rank_class] : without(all_[rank_class], own[rank_class]);
}

// By class; empty unless every open option has a shard on every rank.
std::vector<RankUse> CommonUse::use_of_table(const OpenOptions& options, std::size_t table) const {
  std::vector<RankUse> least(all_.size());
  for (std::size_t c = 0; c < least.size(); ++c) {
    if ((options.classes().of_uniform() >> c & 1) != 0) least[c] = kLargest;
  }
  const std::vector<OpenOption>& open = options.of_table(table);
  if (open.empty()) return {};
  for (const OpenOption& domain : open) {
    const std::span<const RunUse> runs = options.runs(domain.option);
    const std::span<const ClassShards> by_class = options.shards_by_class(domain.option);
    if (by_class.empty()) return {};
    for (const ClassShards& shards : by_class) {
      RankUse& own = least[shards.rank_class];
      own = least_of(own, runs[shards.run].use);
    }
  }
  return least;
}

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
  std::vector<std::pair<std::size_t, std::vector<std::uint32_t>>> changed;
  for (std::size_t table = 0; table < options.num_tables(); ++table) {
    std::vector<std::uint32_t> left;
    bool differs = false;
    for (const OpenOption& own : options.of_table(table)) {
      left.push_back(sum.excludes(table, left.size()) ? 0 : own.classes);
      differs |= left.back() != own.classes;
    }
    if (differs) changed.emplace_back(table, std::move(left));
  }
  for (const auto& [table, left] : changed)
    options.restrict_to(table, left);
}

}  // namespace shardwright::embedding
