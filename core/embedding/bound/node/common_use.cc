#include "core/embedding/bound/node/common_use.h"

#include <algorithm>
#include <limits>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {
namespace {

constexpr double kMost = std::numeric_limits<double>::infinity();
constexpr RankUse kLargest{kMost, {kMost, kMost, kMost}};

}  // namespace

CommonUse::CommonUse(const OpenOptions& options) : all_(options.classes().size()) {
  for (std::size_t table = 0; table < options.num_tables(); ++table)
    of_table_.push_back(options.classes().ranks_apart() ? use_of_placed(options, table)
                                                        : use_of_table(options, table));
  for (std::size_t c = 0; c < options.pinned().size(); ++c) {
    std::vector<RankUse>& own = of_table_[options.pinned()[c]];
    own.assign(all_.size(), RankUse());
    own[c] = smallest_of(options, options.pinned()[c]);
  }
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

// By rank; empty if there is none that all open options hold.
std::vector<RankUse> CommonUse::use_of_placed(const OpenOptions& options, std::size_t table) const {
  std::uint32_t held = options.classes().all();
  for (const OpenOption& own : options.of_table(table))
    held &= options.certain_ranks(own);
  if (options.of_table(table).empty() || held == 0) return {};
  const RankUse least = smallest_of(options, table);
  std::vector<RankUse> use(all_.size());
  for (std::size_t c = 0; c < use.size(); ++c) {
    if ((held >> c & 1) != 0) use[c] = least;
  }
  return use;
}

// The smallest shard of any open option; nothing if no option is open.
RankUse CommonUse::smallest_of(const OpenOptions& options, std::size_t table) const {
  RankUse least = kLargest;
  for (const OpenOption& domain : options.of_table(table)) {
    for (const RunUse& run : options.runs(domain.option)) {
      if (run.count > 0) least = least_of(least, run.use);
    }
  }
  return options.of_table(table).empty() ? RankUse() : least;
}

}  // namespace shardwright::embedding
