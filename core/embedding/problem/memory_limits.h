// Memory that tables may not have, beyond the reservation.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/problem/storage.h"
#include "core/embedding/problem/topology.h"
#include "core/status.h"

namespace shardwright::embedding {

// Of one tier of every rank: bytes, or a fraction of what the reservation leaves; one of them is 0.
struct MemoryMargin {
  std::int64_t bytes = 0;
  double fraction = 0;
};

// Sizes in bytes; one for every rank alike, or one per rank; empty = none.
struct MemoryLimits {
  std::vector<std::int64_t> reserved_hbm;
  std::vector<std::int64_t> reserved_ddr;
  MemoryMargin margin_hbm;
  MemoryMargin margin_ddr;

  bool any_reserved() const { return !reserved_hbm.empty() || !reserved_ddr.empty(); }
  bool any_margin() const {
    return margin_hbm.bytes != 0 || margin_hbm.fraction != 0 || margin_ddr.bytes != 0 ||
           margin_ddr.fraction != 0;
  }
  Storage reserved(std::uint32_t rank) const;
  // What must stay free of `left`, a fraction rounded up to whole bytes: at most all of it, and
  // nothing where nothing is left.
  Storage margin(Storage left) const;
};

// Errors: kInvalidInput with the place in the problem file, where a rank does not have what is set
// aside, the sizes are not one per rank, or a margin is out of range.
Status check(const MemoryLimits& limits, const Topology& topology);

}  // namespace shardwright::embedding
