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

Status check_reserved(const std::vector<std::int64_t>& bytes, const Topology& topology,
                      MemoryTier tier) {
  const std::string where = "/reserved_memory/" + std::string(to_name(tier));
  const std::size_t world = topology.world_size();
  if (bytes.size() > 1 && bytes.size() != world) {
    return invalid_input(where, "must be one size, or one per rank: " + std::to_string(world) +
                                    " ranks, " + std::to_string(bytes.size()) + " sizes");
  }
  for (std::uint32_t rank = 0; rank < world && !bytes.empty(); ++rank) {
    const std::int64_t size = of_rank(bytes, rank);
    const std::int64_t has = topology.storage()[rank][tier].value();
    const std::string at = bytes.size() == 1 ? where : where + "/" + std::to_string(rank);
    if (size < 0) return invalid_input(at, "must not be negative");
    if (size > has) {
      return invalid_input(at, "sets aside " + std::to_string(size) + " bytes, but rank " +
                                   std::to_string(rank) + " has " + std::to_string(has));
    }
  }
  return {};
}

Status check_margin(const MemoryMargin& margin, MemoryTier tier) {
  const std::string where = "/memory_margin/" + std::string(to_name(tier));
  if (margin.bytes < 0 || margin.bytes > kMaxRankBytes) {
    return invalid_input(where, "a margin in bytes must be between 1 and 2^53");
  }
  if (!(margin.fraction >= 0 && margin.fraction < 1)) {
    return invalid_input(where, "a margin is a fraction of at least 0 and below 1, or whole bytes");
  }
  return {};
}

}  // namespace

bool MemoryLimits::any_reserved() const {
  return std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(),
                     [&](MemoryTier tier) { return !reserved_bytes[tier].empty(); });
}

Storage MemoryLimits::reserved(std::uint32_t rank) const {
  Storage reserved;
  for (const MemoryTier tier : kMemoryTiers)
    reserved[tier] = Bytes(of_rank(reserved_bytes[tier], rank));
  return reserved;
}

Storage MemoryLimits::margin(Storage left) const {
  Storage margin;
  for (const MemoryTier tier : kMemoryTiers)
    margin[tier] = margin_of(margins[tier], left[tier]);
  return margin;
}

Status check(const MemoryLimits& limits, const Topology& topology) {
  for (const MemoryTier tier : kMemoryTiers)
    SHARDWRIGHT_RETURN_IF_ERROR(check_reserved(limits.reserved_bytes[tier], topology, tier));
  for (const MemoryTier tier : kMemoryTiers)
    SHARDWRIGHT_RETURN_IF_ERROR(check_margin(limits.margins[tier], tier));
  return {};
}

}  // namespace shardwright::embedding
