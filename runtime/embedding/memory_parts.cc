#include "runtime/embedding/memory_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shardwright {
namespace {

using embedding::ShardCost;
using embedding::ShardingOption;
using embedding::Storage;

std::vector<Storage> distinct(std::vector<Storage> sizes) {
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

bool every_shard_fits(const ShardingOption& option, const std::vector<Storage>& ranks) {
  return std::all_of(option.costs.begin(), option.costs.end(), [&](const ShardCost& cost) {
    return std::any_of(ranks.begin(), ranks.end(),
                       [&](const Storage& rank) { return cost.storage.fits_in(rank); });
  });
}

void take_in(const ShardingOption& option, const std::vector<Storage>& ranks, TableNeed& need) {
  const Storage storage = option.total_storage();
  const Bytes total = storage.sum();
  need.hbm = need.has_options ? std::min(need.hbm, storage.hbm) : storage.hbm;
  need.total = need.has_options ? std::min(need.total, total) : total;
  need.has_options = true;
  need.fits = need.fits || every_shard_fits(option, ranks);
}

}  // namespace

MemoryNeeds memory_needs(const embedding::Problem& problem, const embedding::SearchSpace* space,
                         const embedding::Reservation* reservation) {
  MemoryNeeds needs;
  needs.capacity = problem.topology().total_storage();
  const embedding::Topology& left =
      reservation != nullptr ? reservation->topology : problem.topology();
  needs.available = left.total_storage();
  if (space == nullptr || space->size() == 0) return needs;
  const std::vector<Storage> ranks = distinct(left.storage());
  needs.tables.assign(problem.tables().size(), {{}, {}, false, false});
  for (const ShardingOption& option : space->options())
    take_in(option, ranks, needs.tables[option.table.index()]);
  for (const TableNeed& need : needs.tables) {
    needs.hbm += need.hbm;
    needs.total += need.total;
  }
  return needs;
}

std::vector<MemoryParts> memory_parts(const embedding::Problem& problem,
                                      const embedding::Reservation& reservation,
                                      const embedding::Evaluation& evaluation) {
  std::vector<MemoryParts> all;
  const std::size_t world = evaluation.storage_by_rank.size();
  all.reserve(world);
  for (std::size_t rank = 0; rank < world; ++rank) {
    const embedding::Storage left = reservation.topology.storage()[rank];
    MemoryParts& parts = all.emplace_back();
    parts.capacity = problem.topology().storage()[rank];
    parts.reserved = problem.spec().memory.reserved(static_cast<std::uint32_t>(rank));
    if (!reservation.margin.empty()) parts.margin = reservation.margin[rank];
    parts.reservation = parts.capacity - left - parts.reserved - parts.margin;
    parts.tables = evaluation.storage_by_rank[rank];
    parts.free = left - parts.tables;
  }
  return all;
}

}  // namespace shardwright
