// Tables that a certificate pins to rank classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/bound/node/open_options.h"

namespace shardwright::embedding {

// Pins the tables to the next classes, in this order. Returns what is wrong, or nothing: see
// BoundNode. Where all ranks are alike, a plan below the target can be turned into one that has
// the tables there: their shards lie on ranks of their own, and the ranks that no pinned table is
// on are still exchangeable. Takes a step from `work_left` for every pair of shards that it
// compares.
std::optional<std::string> pin_tables(OpenOptions& options, const std::vector<TableId>& tables,
                                      std::uint64_t& work_left);

}  // namespace shardwright::embedding
