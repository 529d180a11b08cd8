#include "runtime/io/embedding/problem_overrides.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "core/embedding/problem/gpus.h"
#include "runtime/io/sizes.h"

namespace shardwright {
namespace {

using embedding::MemoryTier;
using embedding::TopologySpec;

// Calls function(name, place, member) for every member; its value replaces that at `place` in a
// problem file.
template <class Overrides, class Function>
void for_each_member(Overrides& given, const Function& function) {
  function("ranks", "/topology/world_size", given.ranks);
  function("ranks_per_host", "/topology/local_world_size", given.ranks_per_host);
  function("gpu", "/topology/gpu", given.gpu);
  function("hbm", "/topology/hbm_cap", given.hbm_bytes);
  function("ddr", "/topology/ddr_cap", given.ddr_bytes);
  function("ssd", "/topology/ssd_cap", given.ssd_bytes);
  function("hbm_mem_bw", "/topology/hbm_mem_bw", given.hbm_mem_bw);
  function("intra_host_bw", "/topology/intra_host_bw", given.intra_host_bw);
  function("inter_host_bw", "/topology/inter_host_bw", given.inter_host_bw);
  function("batch_size", "/batch_size", given.batch_size);
  function("zipf", "/zipf", given.zipf);
  function("device", "/topology/compute_device", given.device);
  function("torchrec", "/torchrec", given.torchrec);
  function("sharding_group_size", "/topology/sharding_groups/size", given.group_sizes);
  function("sync_interval", "/topology/sharding_groups/sync_interval", given.sync_interval);
  function("pod_size", "/topology/pod_size", given.pod_sizes);
}

std::string word_of(std::string_view name, std::int64_t number) {
  const bool is_size = name == "hbm" || name == "ddr" || name == "ssd";
  return is_size ? exact_size(number) : std::to_string(number);
}
std::string word_of(std::string_view name, double bytes_per_ms) {
  if (name == "zipf") return json_number(bytes_per_ms);
  return json_number(bytes_per_ms / 1e6) + "GB/s";
}
template <class Enum>
requires(std::is_enum_v<Enum>) std::string word_of(std::string_view, Enum value) {
  return std::string(embedding::to_name(value));
}
std::string word_of(std::string_view name, const std::vector<std::int64_t>& sizes) {
  std::string words;
  for (const std::int64_t size : sizes)
    words += (words.empty() ? "" : ",") + word_of(name, size);
  return words.empty() ? "any" : words;
}

// Returns true if `place` is `parent` or lies within it.
bool is_within(std::string_view place, std::string_view parent) {
  return place.starts_with(parent) &&
         (place.size() == parent.size() || place[parent.size()] == '/');
}

// Checks that the request's hosts and pods fit the machine. As in TorchRec, a file's need not.
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
  std::string_view first;
  for_each_member(*this, [&](std::string_view name, std::string_view, const auto& member) {
    if (member && first.empty()) first = name;
  });
  return first;
}

Error ProblemOverrides::locate(Error error) const {
  std::string_view found;
  for_each_member(*this, [&](std::string_view name, std::string_view place, const auto& member) {
    if (member && found.empty() && is_within(error.where, place)) found = name;
  });
  if (found.empty() && group_sizes && is_within(error.where, "/topology/sharding_groups"))
    found = "sharding_group_size";
  if (!found.empty()) error.where = std::string(found);
  return error;
}

std::string ProblemOverrides::take_missing(const ProblemOverrides& other) {
  std::string taken;
  for_each_member(other, [&](std::string_view name, std::string_view, const auto& theirs) {
    if (!theirs) return;
    for_each_member(*this, [&](std::string_view mine, std::string_view, auto& member) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(member)>,
                                   std::remove_cvref_t<decltype(theirs)>>) {
        if (mine != name || member) return;
        member = theirs;
        taken += (taken.empty() ? "{" : " {") + std::string(name) + "} " + word_of(name, *theirs);
      }
    });
  });
  return taken;
}

void describe(JsonMembers& members, ProblemOverrides& overrides) {
  for_each_member(overrides, [&](std::string_view name, std::string_view, auto& member) {
    members.optional(name, member);
  });
}

Status ProblemOverrides::apply(TopologySpec& topology) const {
  if (machine) embedding::use_machine(machine, topology);
  if (gpu) embedding::use_gpu(*gpu, topology);
  if (ranks) topology.world_size = *ranks;
  if (ranks_per_host) topology.local_world_size = *ranks_per_host;
  if (topology.world_size == 0) return {};  // the file's reader reports this
  if (topology.gpu && topology.local_world_size == 0)
    topology.local_world_size =
        std::min(embedding::gpu_of(*topology.gpu).ranks_per_host, topology.world_size);
  // If `ranks` is less than a host, the machine is one host of `ranks` ranks.
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
  if (hbm_mem_bw) topology.hbm_mem_bw = *hbm_mem_bw;
  if (intra_host_bw) topology.intra_host_bw = *intra_host_bw;
  if (inter_host_bw) topology.inter_host_bw = *inter_host_bw;
  return check_fit(*this, topology);
}

}  // namespace shardwright
