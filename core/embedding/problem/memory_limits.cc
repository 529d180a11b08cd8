#include "core/embedding/problem/memory_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace shardwright::embedding {
namespace {

std::int64_t of_rank(const std::vector<std::int64_t>& bytes, std::uint32_t rank) {
  return bytes.empty() ? 0 : bytes[bytes.size() == 1 ? 0 : rank];
}

Bytes margin_of(const MemoryMargin& margin, Bytes left) {
  if (left <= Bytes(0)) return Bytes(0);
  const double share = std::ceil(margin.fraction * static_cast<double>(left.value()));
  return std::min(left, Bytes(margin.bytes + static_cast<std::int64_t>(share)));
}

template <class Tier>
Status check_reserved(const std::vector<std::int64_t>& bytes, const Topology& topology,
                      const std::string& where, const Tier& tier) {
  const std::size_t world = topology.world_size();
  if (bytes.size() > 1 && bytes.size() != world) {
    return invalid_input(where, "must be one size, or one per rank: " + std::to_string(world) +
                                    " ranks, " + std::to_string(bytes.size()) + " sizes");
  }
  for (std::uint32_t rank = 0; rank < world && !bytes.empty(); ++rank) {
    const std::int64_t size = of_rank(bytes, rank);
    const std::int64_t has = tier(topology.storage()[rank]).value();
    const std::string at = bytes.size() == 1 ? where : where + "/" + std::to_string(rank);
    if (size < 0) return invalid_input(at, "must not be negative");
    if (size > has) {
      return invalid_input(at, "sets aside " + std::to_string(size) + " bytes, but rank " +
                                   std::to_string(rank) + " has " + std::to_string(has));
    }
  }
  return {};
}

Status check_margin(const MemoryMargin& margin, const std::string& where) {
  if (margin.bytes < 0 || margin.bytes > kMaxRankBytes) {
    return invalid_input(where, "a margin in bytes must be between 1 and 2^53");
  }
  if (!(margin.fraction >= 0 && margin.fraction < 1)) {
    return invalid_input(where, "a margin is a fraction of at least 0 and below 1, or whole bytes");
  }
  return {};
}

}  // namespace

Storage MemoryLimits::reserved(std::uint32_t rank) const {
  return {Bytes(of_rank(reserved_hbm, rank)), Bytes(of_rank(reserved_ddr, rank))};
}

Storage MemoryLimits::margin(Storage left) const {
  return {margin_of(margin_hbm, left.hbm), margin_of(margin_ddr, left.ddr)};
}

Status check(const MemoryLimits& limits, const Topology& topology) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_reserved(limits.reserved_hbm, topology, "/reserved_memory/hbm",
                                             [](const Storage& s) { return s.hbm; }));
  SHARDWRIGHT_RETURN_IF_ERROR(check_reserved(limits.reserved_ddr, topology, "/reserved_memory/ddr",
                                             [](const Storage& s) { return s.ddr; }));
  SHARDWRIGHT_RETURN_IF_ERROR(check_margin(limits.margin_hbm, "/memory_margin/hbm"));
  return check_margin(limits.margin_ddr, "/memory_margin/ddr");
}

}  // namespace shardwright::embedding
