// The memory and the time of a shard on its rank.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "core/embedding/problem/kinds.h"
#include "core/units.h"

namespace shardwright::embedding {

// The largest accepted number of bytes per rank: 8 PiB. Ratings are doubles and may count bytes.
// Doubles represent integers up to this number exactly.
inline constexpr std::int64_t kMaxRankBytes = std::int64_t{1} << 53;

inline constexpr std::array kMemoryTiers{MemoryTier::kHbm, MemoryTier::kDdr, MemoryTier::kSsd};
inline constexpr std::size_t kNumMemoryTiers = kMemoryTiers.size();

// Returns the member hbm, ddr or ssd of a value that has all three.
template <class PerTier>
constexpr auto& at_tier(PerTier& value, MemoryTier tier) {
  return tier == MemoryTier::kHbm ? value.hbm : tier == MemoryTier::kDdr ? value.ddr : value.ssd;
}

// One value per memory tier.
template <class Value>
struct PerTier {
  Value hbm = Value();
  Value ddr = Value();
  Value ssd = Value();

  constexpr Value& operator[](MemoryTier tier) { return at_tier(*this, tier); }
  constexpr const Value& operator[](MemoryTier tier) const { return at_tier(*this, tier); }
  constexpr Value sum() const { return hbm + ddr + ssd; }

  friend constexpr auto operator<=>(const PerTier&, const PerTier&) = default;
};

// Bytes on one rank by tier. Ordered by hbm, then ddr, then ssd, as in TorchRec.
struct Storage {
  Bytes hbm;
  Bytes ddr;
  Bytes ssd = Bytes();

  constexpr Bytes& operator[](MemoryTier tier) { return at_tier(*this, tier); }
  constexpr Bytes operator[](MemoryTier tier) const { return at_tier(*this, tier); }

  friend constexpr Storage operator+(Storage a, Storage b) {
    return {a.hbm + b.hbm, a.ddr + b.ddr, a.ssd + b.ssd};
  }
  friend constexpr Storage operator-(Storage a, Storage b) {
    return {a.hbm - b.hbm, a.ddr - b.ddr, a.ssd - b.ssd};
  }
  constexpr Storage& operator+=(Storage other) { return *this = *this + other; }
  constexpr Storage& operator-=(Storage other) { return *this = *this - other; }
  constexpr bool fits_in(Storage other) const {
    return hbm <= other.hbm && ddr <= other.ddr && ssd <= other.ssd;
  }
  // Returns true if a tier is negative. The bitwise or is negative if any operand is.
  constexpr bool is_negative() const { return (hbm.value() | ddr.value() | ssd.value()) < 0; }
  constexpr Bytes sum() const { return hbm + ddr + ssd; }

  friend constexpr auto operator<=>(const Storage&, const Storage&) = default;
};

// Returns the storage of `count` shards.
constexpr Storage operator*(std::int64_t count, Storage each) {
  return {Bytes(count * each.hbm.value()), Bytes(count * each.ddr.value()),
          Bytes(count * each.ssd.value())};
}

constexpr PerTier<double> as_doubles(Storage bytes) {
  return {static_cast<double>(bytes.hbm.value()), static_cast<double>(bytes.ddr.value()),
          static_cast<double>(bytes.ssd.value())};
}

// Returns the tier in which `needed` exceeds `room` by the most bytes; the first one on ties. SSD
// counts only if `needed` has some.
constexpr MemoryTier scarcest_tier(Storage needed, Storage room) {
  const Storage over = needed - room;
  MemoryTier worst = over.ddr > over.hbm ? MemoryTier::kDdr : MemoryTier::kHbm;
  if (needed.ssd > Bytes() && over.ssd > over[worst]) worst = MemoryTier::kSsd;
  return worst;
}

// Returns sum + prices * bytes, adding the tiers in the order hbm, ddr, ssd.
template <class Prices>
constexpr double add_priced(double sum, const Prices& prices, const PerTier<double>& bytes) {
  return sum + prices.hbm * bytes.hbm + prices.ddr * bytes.ddr + prices.ssd * bytes.ssd;
}

// Minimum and maximum, tier by tier.
constexpr Storage least_of(Storage a, Storage b) {
  return {std::min(a.hbm, b.hbm), std::min(a.ddr, b.ddr), std::min(a.ssd, b.ssd)};
}
constexpr Storage most_of(Storage a, Storage b) {
  return {std::max(a.hbm, b.hbm), std::max(a.ddr, b.ddr), std::max(a.ssd, b.ssd)};
}

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
