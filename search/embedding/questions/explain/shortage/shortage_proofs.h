// The proofs that memory does not suffice, one for each kind of shortage.
#pragma once

#include <optional>

#include "search/embedding/questions/explain/shortage/memory_needs.h"
#include "search/embedding/questions/explain/shortage/memory_shortage.h"

namespace shardwright::embedding {

// Drops the options with a shard that fits no rank. Returns a shortage if a table has none left.
std::optional<MemoryShortage> keep_fitting_options(MemoryNeeds& needs);

// Tables that a rule keeps together, and tables that may be only on the same few ranks.
std::optional<MemoryShortage> shortage_of_groups(const MemoryNeeds& needs);

// All tables against all ranks.
std::optional<MemoryShortage> shortage_in_total(const MemoryNeeds& needs);

// Shards of more than half a rank.
std::optional<MemoryShortage> shortage_by_large_shards(const MemoryNeeds& needs);

}  // namespace shardwright::embedding
