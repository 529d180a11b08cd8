#include "core/embedding/bound/bound_options.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {
namespace {

// Returns true if the shard is allowed on some rank of the host.
bool is_allowed_on_host(const PlacementRules& rules, const Topology& topology, TableId table,
                        std::uint32_t shard, std::uint32_t host) {
  const RankSet* const allowed = rules.allowed(table, shard);
  const std::uint32_t local = topology.local_world_size();
  return allowed == nullptr || allowed->count_in(host * local, local) > 0;
}

bool is_allowed(const PlacementRules& rules, TableId table, std::uint32_t shard, Rank rank) {
  const RankSet* const allowed = rules.allowed(table, shard);
  return allowed == nullptr || allowed->contains(rank);
}

// Returns true if the shards from number `first` on may fill the host in rank order.
bool may_fill_host(const PlacementRules& rules, const Topology& topology, TableId table,
                   std::uint32_t first, std::uint32_t host) {
  const std::uint32_t local = topology.local_world_size();
  for (std::uint32_t i = 0; i < local; ++i) {
    if (!is_allowed(rules, table, first + i, host * local + i)) return false;
  }
  return true;
}

bool may_fill_hosts(const PlacementRules& rules, const Topology& topology,
                    const ShardingOption& option) {
  const std::uint32_t local = topology.local_world_size();
  const std::uint32_t blocks = option.num_shards() / local;
  if (rules.distinct_ranks(option.table) && blocks > topology.num_hosts()) return false;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    bool somewhere = false;
    for (std::uint32_t host = 0; host < topology.num_hosts() && !somewhere; ++host)
      somewhere = may_fill_host(rules, topology, option.table, block * local, host);
    if (!somewhere) return false;
  }
  return true;
}

bool may_be_on_a_host(const PlacementRules& rules, const Topology& topology,
                      const ShardingOption& option) {
  if (rules.distinct_ranks(option.table) && option.num_shards() > topology.local_world_size()) {
    return false;
  }
  for (std::uint32_t host = 0; host < topology.num_hosts(); ++host) {
    bool all = true;
    for (std::uint32_t shard = 0; shard < option.num_shards() && all; ++shard)
      all = is_allowed_on_host(rules, topology, option.table, shard, host);
    if (all) return true;
  }
  return false;
}

// Only distinct_ranks can exclude every placement: other rules leave each shard a rank.
bool may_be_free(const PlacementRules& rules, const Topology& topology,
                 const ShardingOption& option) {
  if (!rules.distinct_ranks(option.table)) return true;
  std::size_t ranks = topology.world_size();
  if (rules.same_for_all_shards(option.table)) {
    const RankSet* const allowed = rules.allowed(option.table, 0);
    if (allowed != nullptr) ranks = allowed->size();
  }
  return option.num_shards() <= ranks;
}

bool has_form(const Topology& topology, const ShardingOption& option) {
  if (option.num_shards() == 0) return false;
  if (fills_hosts(option, topology)) {
    return topology.num_hosts() > 0 && option.num_shards() % topology.local_world_size() == 0;
  }
  if (topology.num_hosts() == 0 && option.partition_by() == PartitionBy::kHost) return false;
  return option.partition_by() != PartitionBy::kUniform || is_on_all_ranks(option, topology);
}

}  // namespace

bool is_on_all_ranks(const ShardingOption& option, const Topology& topology) {
  if (option.num_shards() != topology.world_size()) return false;
  return option.partition_by() == PartitionBy::kUniform ||
         (topology.is_one_host() && (option.partition_by() == PartitionBy::kMultiHost ||
                                     option.sharding_type == ShardingType::kTableRowWise));
}

bool fills_hosts(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology)) return false;
  return option.sharding_type == ShardingType::kTableRowWise ||
         (option.partition_by() == PartitionBy::kMultiHost && topology.local_world_size() > 1);
}

bool is_free(const ShardingOption& option, const Topology& topology) {
  if (is_on_all_ranks(option, topology) || fills_hosts(option, topology)) return false;
  if (option.partition_by() != PartitionBy::kHost || topology.is_one_host()) return true;
  return option.num_shards() == 1 && !topology.has_uneven_hosts();
}

double load_of(const ShardCost& cost, PerfModel model) {
  return model == PerfModel::kPerf ? cost.perf.total().value()
                                   : static_cast<double>(cost.storage.hbm.value());
}

bool may_have_place(const PlacementRules& rules, const Topology& topology,
                    const ShardingOption& option) {
  if (!has_form(topology, option)) return false;
  if (!rules.constrains(option.table)) return true;
  if (option.num_shards() > rules.max_shards(option.table)) return false;
  if (is_on_all_ranks(option, topology)) {
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard) {
      if (!is_allowed(rules, option.table, shard, shard)) return false;
    }
    return true;
  }
  if (fills_hosts(option, topology)) return may_fill_hosts(rules, topology, option);
  if (is_free(option, topology)) return may_be_free(rules, topology, option);
  return may_be_on_a_host(rules, topology, option);
}

bool replaces(const ShardingOption& a, const ShardingOption& b, const Topology& topology,
              PerfModel model) {
  const auto no_dearer = [&](const ShardCost& x, const ShardCost& y) {
    return load_of(x, model) <= load_of(y, model) && x.storage.fits_in(y.storage);
  };
  if (a.num_shards() == 1 && is_free(a, topology)) {
    for (std::size_t run = 0; run < b.costs.size(); ++run) {
      if (b.layout->extents[run].count > 0 && no_dearer(a.costs[0], b.costs[run])) return true;
    }
    return false;
  }
  const bool alike = is_free(a, topology) == is_free(b, topology) &&
                     is_on_all_ranks(a, topology) == is_on_all_ranks(b, topology) &&
                     fills_hosts(a, topology) == fills_hosts(b, topology);
  if (!alike || a.num_shards() != b.num_shards()) return false;
  std::size_t i = 0;
  std::size_t j = 0;
  std::uint32_t end_a = 0;
  std::uint32_t end_b = 0;
  for (std::uint32_t shard = 0; shard < a.num_shards();) {
    while (end_a <= shard)
      end_a += a.layout->extents[i++].count;
    while (end_b <= shard)
      end_b += b.layout->extents[j++].count;
    if (!no_dearer(a.costs[i - 1], b.costs[j - 1])) return false;
    shard = std::min(end_a, end_b);
  }
  return true;
}

}  // namespace shardwright::embedding
