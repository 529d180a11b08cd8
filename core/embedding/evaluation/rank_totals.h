// What the shards of a plan add up to on every rank.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/plan.h"

namespace shardwright::embedding {

// Times and bytes of every rank, one array per quantity, so that adding a run of equal shards to
// consecutive ranks is a loop over contiguous memory. Sums are made in the order of the calls.
// Thread safety: one thread at a time.
class RankTotals {
 public:
  explicit RankTotals(std::size_t world) {
    for (auto& column : ms_)
      column.assign(world, 0.0);
    for (const MemoryTier tier : kMemoryTiers)
      bytes_[tier].assign(world, Bytes());
  }

  // Adds `cost` to each of `count` ranks from `first` on. Precondition: they exist.
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

  // The parts in the order of Perf, then their total. The total is summed on its own: a sum of the
  // summed parts would round differently.
  std::array<std::vector<double>, 6> ms_;
  PerTier<std::vector<Bytes>> bytes_;
};

}  // namespace shardwright::embedding
