// The independent verifier of embedding plans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/table.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Sums of times and bytes for every rank. Each quantity has its own array, so adding a run of equal
// shards to consecutive ranks is a loop over contiguous memory. Sums follow the order of the calls.
// Thread safety: one thread at a time.
class RankTotals {
 public:
  explicit RankTotals(std::size_t world) {
    for (auto& column : ms_)
      column.assign(world, 0.0);
    for (const MemoryTier tier : kMemoryTiers)
      bytes_[tier].assign(world, Bytes());
  }

  // Adds `cost` to `count` ranks, beginning with `first`. Precondition: these ranks exist.
  void add(Rank first, std::uint32_t count, const ShardCost& cost) {
    const Perf& perf = cost.perf;
    const double ms[] = {perf.fwd_compute.value(),      perf.fwd_comms.value(),
                         perf.bwd_compute.value(),      perf.bwd_comms.value(),
                         perf.prefetch_compute.value(), perf.total().value()};
    for (std::size_t i = 0; i < ms_.size(); ++i)
      add_to(ms_[i], first, count, ms[i]);
    for (const MemoryTier tier : kMemoryTiers)
      add_to(bytes_[tier], first, count, cost.storage[tier]);
  }

  double total_ms(std::size_t rank) const { return ms_[5][rank]; }
  Perf parts(std::size_t rank) const {
    return {Milliseconds(ms_[0][rank]), Milliseconds(ms_[1][rank]), Milliseconds(ms_[2][rank]),
            Milliseconds(ms_[3][rank]), Milliseconds(ms_[4][rank])};
  }
  Storage storage(std::size_t rank) const {
    return {bytes_.hbm[rank], bytes_.ddr[rank], bytes_.ssd[rank]};
  }

 private:
  template <class T>
  static void add_to(std::vector<T>& column, Rank first, std::uint32_t count, T value) {
    if (value == T()) return;
    for (std::uint32_t rank = first; rank < first + count; ++rank)
      column[rank] += value;
  }

  // One array per component of Perf, in the order of Perf, then the total. Indexed by rank. The
  // total is summed separately, because a sum of the summed components would round differently.
  std::array<std::vector<double>, 6> ms_;
  PerTier<std::vector<Bytes>> bytes_;
};

// Returns one sentence per violated constraint. The sentence names the table, the shard and the
// rank. Reads the constraints as the user wrote them, not the compiled PlacementRules of the
// search. Skips an assignment if its table is unknown, its number of ranks is wrong, or a rank does
// not exist. Cost: O(tables), and O(shards log shards) for the tables that constraints name.
std::vector<std::string> constraint_violations(const Problem& problem, const Plan& plan);

// Returns true if the shards cover the table exactly. Each data-parallel shard must be the whole
// table. All other shards must form adjacent blocks of columns, each cut into rows without gap or
// overlap. With `rows_may_be_wider`, the shards may reach beyond `embedding_dim`, all to the same
// column: a row of a quantised table also holds a scale and a bias. Cost: O(runs log runs) if the
// shards of each run are stacked row over row, otherwise O(shards log shards).
bool shards_tile_table(const ShardingOption& option, const Table& table, bool rows_may_be_wider);

// A reason why a plan is not valid. `message` is one sentence that names the table, shard or rank.
struct Violation {
  enum class Kind : unsigned char {
    kUnknownTable,  // the problem has no such table
    kMissingTable,
    kDuplicateTable,
    kWrongShardCount,  // numbers of shards, costs and ranks differ
    kNoSuchRank,
    kWrongPlacement,  // the sharding type does not allow these ranks
    kNotCovering,     // shards do not tile the table: a gap, an overlap, a wrong width
    kOutOfMemory,
    kBadCost,              // a cost is negative or not finite
    kPlacementConstraint,  // the user's constraints do not allow these ranks
  };
  Kind kind;
  std::string message;
};

// The memory use and the times of a plan, rank by rank. Arrays are indexed by rank.
struct Evaluation {
  double rating = 0;  // ms (perf model) or bytes of HBM (storage model); smaller is better
  // Times in ms, summed over shards and multiplied by the rank's measured factor, if any.
  std::vector<double> perf_ms_by_rank;
  std::vector<Perf> perf_parts_by_rank;
  std::vector<Storage> storage_by_rank;
  std::vector<Violation> violations;

  bool valid() const { return violations.empty(); }
};

// Recomputes all figures from the options of the plan, without code of the search. `available` is
// the topology after reservation and margin. Times are summed in proposal order, shard by shard.
// The figures are meaningful only if the evaluation is valid().
// Cost: O(shards), and O(shards log shards) for a layout of many columns. Source of the rating:
// torchrec/distributed/planner/perf_models.py.
Evaluation evaluate(const Problem& problem, const Topology& available, const Plan& plan);

}  // namespace shardwright::embedding
