#include "runtime/io/embedding/problem_overrides.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::TopologySpec;

// A member of a request, and the place in a problem file whose value it replaces.
struct Override {
  std::string_view name;
  std::string_view place;
  bool given;
};

std::array<Override, 12> overrides_of(const ProblemOverrides& given) {
  return {{
      {"ranks", "/topology/world_size", given.ranks.has_value()},
      {"ranks_per_host", "/topology/local_world_size", given.ranks_per_host.has_value()},
      {"hbm", "/topology/hbm_cap", given.hbm_bytes.has_value()},
      {"ddr", "/topology/ddr_cap", given.ddr_bytes.has_value()},
      {"ssd", "/topology/ssd_cap", given.ssd_bytes.has_value()},
      {"batch_size", "/batch_size", given.batch_size.has_value()},
      {"device", "/topology/compute_device", given.device.has_value()},
      {"torchrec", "/torchrec", given.torchrec.has_value()},
      {"sharding_group_size", "/topology/sharding_groups/size", given.group_sizes.has_value()},
      {"sync_interval", "/topology/sharding_groups/sync_interval", given.sync_interval.has_value()},
      {"sharding_group_size", "/topology/sharding_groups", given.group_sizes.has_value()},
      {"pod_size", "/topology/pod_size", given.pod_sizes.has_value()},
  }};
}

// Returns true if `place` is `parent` or in it.
bool is_within(std::string_view place, std::string_view parent) {
  return place.starts_with(parent) &&
         (place.size() == parent.size() || place[parent.size()] == '/');
}

// Checks that hosts and pods of the request fit the machine. Those of a file need not fit, as in
// TorchRec.
Status check_fit(const ProblemOverrides& given, const TopologySpec& topology) {
  const std::int64_t ranks = topology.world_size;
  const std::int64_t local = topology.local_world_size == 0 ? ranks : topology.local_world_size;
  if (given.ranks_per_host && local > ranks) {
    return invalid_input("ranks_per_host", "a host of " + std::to_string(local) +
                                               " ranks is larger than the machine of " +
                                               std::to_string(ranks) + "; give at most " +
                                               std::to_string(ranks) + ", or more {ranks}");
  }
  if (!given.pod_sizes || given.pod_sizes->size() != 1) return {};
  const std::int64_t hosts = std::max<std::int64_t>(ranks / local, 1);
  if (given.pod_sizes->front() <= hosts) return {};
  const std::string most = std::to_string(hosts);
  return invalid_input("pod_size", "a pod of " + std::to_string(given.pod_sizes->front()) +
                                       " hosts is larger than the machine, which has " + most +
                                       "; give at most " + most +
                                       ", or say by {ranks_per_host} what a host is");
}

}  // namespace

std::string_view ProblemOverrides::first_given() const {
  for (const Override& one : overrides_of(*this)) {
    if (one.given) return one.name;
  }
  return "";
}

Error ProblemOverrides::locate(Error error) const {
  for (const Override& one : overrides_of(*this)) {
    if (!one.given || !is_within(error.where, one.place)) continue;
    error.where = std::string(one.name);
    return error;
  }
  return error;
}

Status ProblemOverrides::apply(TopologySpec& topology) const {
  if (ranks) topology.world_size = *ranks;
  if (ranks_per_host) topology.local_world_size = *ranks_per_host;
  if (topology.world_size == 0) return {};  // the reader of the file reports it
  // If `ranks` is below the ranks of a host, the machine is one host with `ranks` ranks.
  if (ranks && !ranks_per_host)
    topology.local_world_size = std::min(topology.local_world_size, topology.world_size);
  if (group_sizes) {
    if (!topology.groups) topology.groups.emplace();
    topology.groups->sizes = *group_sizes;
  }
  if (sync_interval) {
    if (!topology.groups)
      return invalid_input("sync_interval",
                           "is about sharding groups; give {sharding_group_size}, too");
    topology.groups->sync_interval = *sync_interval;
  }
  if (pod_sizes) topology.pod_sizes = *pod_sizes;
  if (device) topology.compute_device = *device;
  for (const auto& [tier, bytes] :
       {std::pair{MemoryTier::kHbm, hbm_bytes}, std::pair{MemoryTier::kDdr, ddr_bytes},
        std::pair{MemoryTier::kSsd, ssd_bytes}}) {
    if (!bytes) continue;
    topology.set_cap_bytes(tier, *bytes);
    topology.custom_cap_bytes(tier).clear();
  }
  return check_fit(*this, topology);
}

}  // namespace shardwright
