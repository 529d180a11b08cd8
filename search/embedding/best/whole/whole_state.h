// The ranks while a tree of all plans is searched: what they hold, and which of them are alike.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/embedding/best/whole/whole_model.h"
#include "search/embedding/best/whole/whole_seen.h"

namespace shardwright::embedding {

// A rank with the set of tables that have a shard on it.
struct WholeRank {
  double load = 0;  // as the rating counts it
  PerTier<double> bytes = {};
  std::uint64_t tables = 0;
};

// Memory is counted in doubles, which hold the bytes of a rank exactly.
// Thread safety: one thread at a time. Refers to the model.
class WholeState {
 public:
  explicit WholeState(const WholeModel& model);

  const WholeRank& rank(Rank rank) const { return ranks_[rank]; }
  // Negative if the reservation left less than nothing.
  double free_bytes(Rank rank, MemoryTier tier) const {
    return capacity_[rank][tier] - ranks_[rank].bytes[tier];
  }
  // What is free, at least 0.
  PerTier<double> usable_bytes(Rank rank) const {
    PerTier<double> free;
    for (const MemoryTier tier : kMemoryTiers)
      free[tier] = std::max(free_bytes(rank, tier), 0.0);
    return free;
  }
  double scale(Rank rank) const { return scale_[rank]; }

  // Returns the rank as it was, for restore().
  WholeRank add(Rank rank, const WholePiece& piece, std::uint64_t table) {
    WholeRank& own = ranks_[rank];
    const WholeRank before = own;
    own.load += piece.load * scale_[rank];
    for (const MemoryTier tier : kMemoryTiers)
      own.bytes[tier] += piece.bytes[tier];
    own.tables |= table;
    return before;
  }
  void restore(Rank rank, const WholeRank& before) { ranks_[rank] = before; }

  // Returns true if the rank has the memory for one shard more, and stays below this load.
  bool has_room(Rank rank, const WholePiece& piece, double below) const {
    const WholeRank& own = ranks_[rank];
    if (!(own.load + piece.load * scale_[rank] < below)) return false;
    const PerTier<double>& capacity = capacity_[rank];
    const double hbm = own.bytes.hbm + piece.bytes.hbm;
    const double ddr = own.bytes.ddr + piece.bytes.ddr;
    const double ssd = own.bytes.ssd + piece.bytes.ssd;
    return (hbm <= capacity.hbm && ddr <= capacity.ddr && ssd <= capacity.ssd) ||
           (hbm == 0 && ddr == 0 && ssd == 0);
  }

  // Sets `open` to 1 where the table's groups let it be, given where the decided tables are.
  void find_open(std::size_t table, std::uint64_t decided, std::vector<std::uint8_t>& open) const;

  // What still matters while `remaining` is placed, the first of them now.
  struct Future {
    std::uint64_t remaining = 0;
    std::uint64_t relevant = 0;  // tables whose ranks make a difference
    bool hosts_matter = false;
  };
  Future future(std::size_t now, std::uint64_t remaining) const;
  // Return true if swapping everything that is yet to be placed on the two ranks, or on the two
  // hosts, changes nothing.
  bool are_twins(const Future& future, Rank a, Rank b) const;
  bool are_twin_hosts(const Future& future, std::uint32_t a, std::uint32_t b) const;

  // Adds what matters to the remaining tables: what ranks hold, in an order that does not depend on
  // which of several ranks or hosts that are alike holds it.
  void add_to(WholeDigest& digest, std::uint64_t remaining);

 private:
  // What a rank is, to the remaining tables, and what it holds.
  struct RankKey {
    std::uint32_t kind = 0;
    std::uint64_t groups = 0;
    double load = 0;  // in units of what makes a difference
    PerTier<double> bytes = {};
    friend auto operator<=>(const RankKey&, const RankKey&) = default;
  };
  std::uint64_t groups_on(Rank rank, std::uint64_t remaining) const;
  void sort_hosts(std::uint32_t local);
  bool do_hosts_matter(std::uint64_t remaining) const;
  std::vector<double> signature(const WholeTable& table, Rank rank) const;
  void tell_ranks_apart();
  bool hold_the_same(const Future& future, Rank a, Rank b) const {
    const WholeRank& one = ranks_[a];
    const WholeRank& other = ranks_[b];
    return (apart_[a * ranks_.size() + b] & future.remaining) == 0 && one.load == other.load &&
           one.bytes == other.bytes && ((one.tables ^ other.tables) & future.relevant) == 0;
  }

  const WholeModel* model_;
  std::vector<WholeRank> ranks_;
  std::vector<PerTier<double>> capacity_;
  std::vector<double> scale_;
  std::vector<std::uint64_t> apart_;  // by two ranks: the tables that tell them apart
  std::uint64_t on_hosts_ = 0;        // tables with a choice that is bound to hosts
  double least_load_;                 // less makes no difference
  std::vector<RankKey> keys_;         // scratch, by rank
};

}  // namespace shardwright::embedding
