// What one option of a table costs in a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/kinds/kinds.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// A part of a rank's time.
enum class PerfPart : std::uint8_t {
  kForwardCompute,
  kForwardComms,
  kBackwardCompute,
  kBackwardComms,
  kPrefetchCompute
};
const char* to_name(PerfPart part);

// The memory that a rank lacks for a shard.
struct MemoryLack {
  Rank rank = 0;
  MemoryTier tier = MemoryTier::kHbm;
  std::int64_t bytes = 0;
};

// An option of a table, exchanged for the one in the plan; every other table stays where it is.
struct OptionCost {
  enum class Standing : std::uint8_t {
    kChosen,
    kPossible,
    kTooLarge,  // `lack` says where
    kNoPlace,   // the placement rules in `excluded_by` leave no place
    kExcluded,  // the constraints in `excluded_by` rule the option out
  };
  Standing standing = Standing::kPossible;
  const ShardingOption* option = nullptr;
  std::vector<Rank> ranks;  // of its shards; for the chosen option those of the plan
  // Rating of the plan with this option in ms, or in bytes for the storage model; within 1e-9 of
  // the verifier's, and equal to the plan's if it is that close to it. kTooLarge ignores memory.
  // Absent for kNoPlace.
  std::optional<double> rating;
  double rating_change = 0;      // against the plan
  Rank busiest_rank = 0;         // the rank that sets the rating
  std::optional<PerfPart> part;  // the part of that rank's time that changes most
  double part_change_ms = 0;
  double time_ms = 0;                    // summed over the shards
  Storage storage;                       // summed over the shards
  std::optional<MemoryLack> lack;        // excluded options may lack memory, too
  std::vector<std::string> excluded_by;  // JSON pointers into the problem file
};

}  // namespace shardwright::embedding
