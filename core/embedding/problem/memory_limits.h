// Memory that tables must not use, in addition to the reservation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright::embedding {

// For one tier of every rank: bytes, or a fraction of what the reservation leaves. One of the two
// is 0.
struct MemoryMargin {
  std::int64_t bytes = 0;
  double fraction = 0;

  friend bool operator==(const MemoryMargin&, const MemoryMargin&) = default;
};

// Sizes are in bytes. A list holds one size for all ranks, or one per rank, or is empty for none.
struct MemoryLimits {
  PerTier<std::vector<std::int64_t>> reserved_bytes;
  PerTier<MemoryMargin> margins;

  bool any_reserved() const;
  bool any_margin() const { return margins != PerTier<MemoryMargin>(); }
  Storage reserved(std::uint32_t rank) const;
  // Returns how much of `left` must stay free: at most all of it, and 0 if `left` is not positive.
  // A fraction is rounded up to whole bytes.
  Storage margin(Storage left) const;
};

// Errors: kInvalidInput with the place in the problem file if more memory is reserved than a rank
// has, the number of sizes is wrong, or a margin is out of range.
Status check(const MemoryLimits& limits, const Topology& topology);

}  // namespace shardwright::embedding
