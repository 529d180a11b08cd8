#include "runtime/report/embedding/plan/constraint_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using embedding::label_of;
using embedding::MemoryLimits;
using embedding::MemoryMargin;
using embedding::MemoryTier;
using embedding::ParameterConstraints;
using embedding::Problem;
using embedding::Table;
using embedding::TableId;
using embedding::TablePlacement;
using embedding::to_name;

constexpr std::size_t kListWidth = 60;

template <class Enum>
std::string names_text(const std::vector<Enum>& values) {
  std::string text;
  for (const Enum value : values)
    text += (text.empty() ? "" : ", ") + std::string(to_name(value));
  return text;
}

std::string ranges_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::uint32_t> sorted;
  sorted.reserve(numbers.size());
  for (const std::int64_t number : numbers)
    sorted.push_back(static_cast<std::uint32_t>(number));
  std::sort(sorted.begin(), sorted.end());
  return format_ranges(sorted, kListWidth);
}

using Texts = std::vector<std::string>;

void add_sharding(const ParameterConstraints& c, Texts& texts) {
  if (!c.sharding_types.empty()) texts.push_back("sharding types " + names_text(c.sharding_types));
  if (!c.compute_kernels.empty()) texts.push_back("kernels " + names_text(c.compute_kernels));
  if (c.min_partition) {
    texts.push_back("shards of at least " +
                    format_plural(static_cast<std::uint64_t>(*c.min_partition), "column"));
  }
  if (c.enforce_hbm && *c.enforce_hbm) texts.push_back("kept in HBM");
  if (c.cache_params && c.cache_params->load_factor) {
    texts.push_back("cache of " + format_share(*c.cache_params->load_factor, 1) + " of the rows");
  }
  if (c.device_group && !c.device_group->empty()) {
    texts.push_back("only on " + *c.device_group);
  }
}

void add_placement(const TablePlacement& placement, Texts& texts) {
  if (placement.ranks) texts.push_back("on ranks " + ranges_text(*placement.ranks));
  if (placement.hosts) texts.push_back("on hosts " + ranges_text(*placement.hosts));
  for (const embedding::ShardRanks& shard : placement.shard_ranks) {
    texts.push_back("shard " + std::to_string(shard.shard) + " on ranks " +
                    ranges_text(shard.ranks));
  }
  if (placement.max_shards) {
    texts.push_back("at most " +
                    format_plural(static_cast<std::uint64_t>(*placement.max_shards), "shard"));
  }
  if (placement.distinct_ranks) texts.push_back("no two shards on one rank");
}

Texts demands_of(const Table& table) {
  Texts texts;
  if (table.constraints) add_sharding(*table.constraints, texts);
  add_placement(table.placement, texts);
  if (!table.dependency.empty()) texts.push_back("on one host with dependency " + table.dependency);
  return texts;
}

void add_tables(const Problem& problem, std::vector<Constraint>& list) {
  std::map<std::string, std::size_t> by_text;
  for (std::uint32_t i = 0; i < problem.tables().size(); ++i) {
    for (std::string& text : demands_of(problem.tables()[i])) {
      const auto [at, added] = by_text.emplace(std::move(text), list.size());
      if (added) list.push_back({at->first, {}});
      list[at->second].tables.emplace_back(i);
    }
  }
}

void add_groups(const Problem& problem, std::vector<Constraint>& list) {
  for (const embedding::PlacementRules::Group& group : problem.rules().groups()) {
    const std::string on = group.on == embedding::GroupScope::kRank ? "rank" : "host";
    list.push_back(
        {group.together ? "together on one " + on : "no two on one " + on, group.tables});
  }
}

// "1.00 GiB", or "1.00 GiB to 2.00 GiB" if ranks differ.
std::string sizes_text(std::span<const std::int64_t> sizes) {
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  const std::string low = format_bytes(Bytes(*least));
  return *least == *most ? low : low + " to " + format_bytes(Bytes(*most));
}

std::string margin_text(const MemoryMargin& margin) {
  return margin.bytes != 0 ? format_bytes(Bytes(margin.bytes))
                           : format_share(margin.fraction, 1) + " of what is left";
}

void add_memory(const MemoryLimits& limits, std::span<const MemoryTier> tiers,
                std::vector<Constraint>& list) {
  for (const MemoryTier tier : tiers) {
    const std::string name(label_of(tier));
    const std::vector<std::int64_t>& reserved = limits.reserved_bytes[tier];
    if (!reserved.empty()) {
      list.push_back({sizes_text(reserved) + " of the " + name + " of a rank reserved", {}});
    }
    const MemoryMargin& margin = limits.margins[tier];
    if (margin.bytes != 0 || margin.fraction != 0) {
      list.push_back({margin_text(margin) + " of the " + name + " of a rank kept free", {}});
    }
  }
}

void add_calibration(const embedding::Calibration& calibration, std::vector<Constraint>& list) {
  for (const embedding::KernelCalibration& kernel : calibration.kernels) {
    list.push_back(
        {"measured times and memory of kernel " + std::string(to_name(kernel.kernel)), {}});
  }
  if (!calibration.rank_time.empty()) list.push_back({"measured times of ranks", {}});
}

}  // namespace

std::vector<Constraint> constraint_list(const Problem& problem) {
  std::vector<Constraint> list;
  add_tables(problem, list);
  add_groups(problem, list);
  add_memory(problem.spec().memory, problem.topology().tiers(), list);
  add_calibration(problem.spec().calibration, list);
  return list;
}

}  // namespace shardwright
