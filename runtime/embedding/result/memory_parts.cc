#include "runtime/embedding/result/memory_parts.h"

#include <cstddef>
#include <cstdint>

namespace shardwright {

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
