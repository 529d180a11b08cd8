#include "runtime/embedding/identity/other_machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::Topology;

// "80GiB", exact.
std::string size_flag(std::int64_t bytes) {
  if (bytes % kGibibyte == 0) return std::to_string(bytes / kGibibyte) + "GiB";
  if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + "MiB";
  return std::to_string(bytes) + "B";
}

// The bytes of a tier that the file says every rank has; nothing if it does not say, or if ranks
// differ.
std::optional<std::int64_t> claimed_capacity(const PlanDocument& document, std::size_t tier) {
  std::optional<std::int64_t> all;
  for (const ClaimedMemory& memory : document.memory_parts_by_rank) {
    if (tier >= memory.capacity.size()) return std::nullopt;
    if (all && *all != memory.capacity[tier]) return std::nullopt;
    all = memory.capacity[tier];
  }
  return all;
}

std::optional<std::int64_t> capacity_of(const Topology& topology, MemoryTier tier) {
  const std::int64_t first = topology.storage().front()[tier].value();
  for (const embedding::Storage& storage : topology.storage()) {
    if (storage[tier].value() != first) return std::nullopt;
  }
  return first;
}

// Where the machines are not even of one kind, sizes would mislead.
std::optional<std::string> other_kind(const PlanDocument& document, const Topology& topology) {
  const bool is_whole = document.reserved_topology && !document.sharding_group_size &&
                        document.reserved_topology->world_size == topology.spec().world_size;
  if (topology.num_replicas() > 1 && is_whole) {
    return "the plan was made without sharding groups, the problem as it is given has " +
           std::to_string(topology.num_replicas()) +
           "; leave out --sharding-group-size, or `sharding_groups` in the problem's topology";
  }
  const auto hbm = claimed_capacity(document, static_cast<std::size_t>(MemoryTier::kHbm));
  if (!hbm || (*hbm > 0) == topology.has_hbm()) return std::nullopt;
  if (topology.has_hbm())
    return "the plan was made for ranks without HBM; give the device that it was made for: "
           "--device cpu";
  return "the plan was made for ranks with " + size_flag(*hbm) +
         " of HBM, the problem as it is given has none; give the device that it was made for, "
         "such as --device cuda";
}

}  // namespace

std::optional<std::string> other_machine(const PlanDocument& document, const Topology& topology) {
  if (std::optional<std::string> kind = other_kind(document, topology)) return kind;
  std::string made_for, instead, flags;
  const auto add = [&](const std::string& was, const std::string& is, const std::string& flag) {
    made_for += (made_for.empty() ? "" : " and ") + was;
    instead += (instead.empty() ? "" : " and ") + is;
    flags += " " + flag;
  };
  const std::int64_t ranks = topology.world_size();
  // With sharding groups the file has the ranks of one group, which --ranks does not set.
  const bool is_whole = document.reserved_topology && !document.sharding_group_size;
  const auto claimed =
      is_whole ? document.reserved_topology->world_size : std::optional<std::int64_t>();
  if (claimed && *claimed != ranks) {
    add(std::to_string(*claimed) + " ranks", std::to_string(ranks),
        "--ranks " + std::to_string(*claimed));
  }
  for (const MemoryTier tier : embedding::kMemoryTiers) {
    const std::string name(embedding::to_name(tier));
    const auto was = claimed_capacity(document, static_cast<std::size_t>(tier));
    const auto is = capacity_of(topology, tier);
    if (!was || !is || *was == *is) continue;
    add(size_flag(*was) + " of " + std::string(embedding::label_of(tier)) + " per rank",
        size_flag(*is), "--" + name + " " + size_flag(*was));
  }
  if (flags.empty()) return std::nullopt;
  return "the plan was made for " + made_for + ", the problem as it is given has " + instead +
         "; give the flags that the plan was made with:" + flags;
}

}  // namespace shardwright
