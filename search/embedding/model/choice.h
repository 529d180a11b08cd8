// One way of sharding a table, as best mode sees it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "core/embedding/kinds/kinds.h"
#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Where an option's shards may be, from the least to the most restricted.
enum class Reach : std::uint8_t {
  kDevice,      // every shard on any rank
  kHost,        // every shard on any rank of one host
  kWholeHosts,  // blocks of local_world_size shards, each in rank order on any host
  kAllRanks,    // shard i on rank i
};
inline constexpr std::size_t kReaches = 4;

// `count` consecutive shards of equal cost. `load` is what the rating counts: milliseconds, or
// bytes of HBM for the storage model.
struct ChoiceRun {
  std::uint32_t count = 0;
  double load = 0;
  Storage storage = {};
};

// The shard that no other one undercuts in load or memory, if there is one.
inline std::optional<ChoiceRun> smallest_shard(std::span<const ChoiceRun> runs) {
  const auto least = std::find_if(runs.begin(), runs.end(), [&](const ChoiceRun& a) {
    return a.count > 0 && std::all_of(runs.begin(), runs.end(), [&](const ChoiceRun& b) {
             return b.count == 0 || (a.load <= b.load && a.storage.fits_in(b.storage));
           });
  });
  return least == runs.end() ? std::nullopt : std::optional(*least);
}

struct Choice {
  OptionId option;
  Reach reach = Reach::kDevice;
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_shards = 0;
  double load = 0;        // over all shards
  double max_load = 0;    // of one shard
  Storage storage;        // over all shards
  PerTier<double> bytes;  // the same as numbers to be priced
};

}  // namespace shardwright::embedding
