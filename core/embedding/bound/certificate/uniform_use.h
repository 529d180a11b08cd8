// What uniform options use of the ranks of a class, and how plans are divided by it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Divides plans by what uniform options use of every rank of a class: at most this, or at least
// this. See BoundCertificate::uniform_apart.
// Thread safety: a value.
struct UniformSplit {
  std::uint32_t rank_class = 0;
  std::optional<MemoryTier> tier;  // load, if there is none
  double at = 0;                   // load as the rating counts it, or whole bytes
};

// What uniform options may use of every rank of a class.
// Thread safety: a value.
struct UniformUse {
  double least_load = 0;
  double most_load = std::numeric_limits<double>::infinity();
  PerTier<double> least_bytes = {};  // whole numbers
  PerTier<double> most_bytes = {static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes),
                                static_cast<double>(kMaxRankBytes)};

  // Restricts it to one of the two parts.
  void restrict_to(const UniformSplit& split, bool at_most) {
    double& least = split.tier ? least_bytes[*split.tier] : least_load;
    double& most = split.tier ? most_bytes[*split.tier] : most_load;
    if (at_most) {
      most = std::min(most, split.at);
    } else {
      least = std::max(least, split.at);
    }
  }
  Storage least_room() const { return as_storage(least_bytes); }
  Storage most_room() const { return as_storage(most_bytes); }

 private:
  static Storage as_storage(const PerTier<double>& bytes) {
    const auto whole = [](double value) { return Bytes(static_cast<std::int64_t>(value)); };
    return {whole(bytes.hbm), whole(bytes.ddr), whole(bytes.ssd)};
  }
};

}  // namespace shardwright::embedding
