// The cost of a shard: memory and time on its rank.
#pragma once

#include <compare>
#include <cstdint>

#include "core/units.h"

namespace shardwright::embedding {

// The largest accepted number of bytes per rank: 8 PiB. Ratings are doubles and may count bytes,
// which are exact up to here.
inline constexpr std::int64_t kMaxRankBytes = std::int64_t{1} << 53;

// Bytes on one rank. Ordered by hbm, then by ddr, as in TorchRec.
struct Storage {
  Bytes hbm;
  Bytes ddr;

  friend constexpr Storage operator+(Storage a, Storage b) { return {a.hbm + b.hbm, a.ddr + b.ddr}; }
  friend constexpr Storage operator-(Storage a, Storage b) { return {a.hbm - b.hbm, a.ddr - b.ddr}; }
  constexpr Storage& operator+=(Storage other) { return *this = *this + other; }
  constexpr Storage& operator-=(Storage other) { return *this = *this - other; }
  constexpr bool fits_in(Storage other) const { return hbm <= other.hbm && ddr <= other.ddr; }

  friend constexpr auto operator<=>(const Storage&, const Storage&) = default;
};

// Time of one shard in a training step, by component.
struct Perf {
  Milliseconds fwd_compute;
  Milliseconds fwd_comms;
  Milliseconds bwd_compute;
  Milliseconds bwd_comms;
  Milliseconds prefetch_compute;

  // Adds in TorchRec's order, which is not the order of the members.
  // Source: Perf.total, torchrec/distributed/planner/types.py.
  constexpr Milliseconds total() const {
    return fwd_compute + bwd_compute + fwd_comms + bwd_comms + prefetch_compute;
  }
  friend constexpr Perf operator+(const Perf& a, const Perf& b) {
    return {a.fwd_compute + b.fwd_compute, a.fwd_comms + b.fwd_comms, a.bwd_compute + b.bwd_compute,
            a.bwd_comms + b.bwd_comms, a.prefetch_compute + b.prefetch_compute};
  }
  constexpr Perf& operator+=(const Perf& other) { return *this = *this + other; }

  friend constexpr bool operator==(const Perf&, const Perf&) = default;
};

}  // namespace shardwright::embedding
