// Search for GPUs of two slots: numbers of replicas decide, because the best way to pair replicas
// is known: the largest with the smallest, and so on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/experts/bound.h"
#include "search/budget.h"

namespace shardwright::experts {

// Moves replicas from expert to expert by threshold accepting, and keeps the numbers of replicas
// whose busiest pair is least. `counts`: by place in the pool, where it begins. `key`: of the
// random numbers. Returns the slots of the best pairs, or an empty list if these cannot be arranged
// without two replicas of an expert on a GPU. O(moves * slots). Precondition: two slots per GPU.
std::vector<Expert> search_pairs(const Pool& pool, std::vector<std::int32_t> counts,
                                 std::size_t moves, std::uint64_t key, StopCheck& stop);

}  // namespace shardwright::experts
