#include "core/embedding/problem/topology.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace shardwright::embedding {
namespace {

// Keeps sums over all ranks within 64 bits.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 62;
constexpr std::int64_t kMaxWorldSize = std::int64_t{1} << 20;
constexpr std::int64_t kDefaultHbmCap = 32 * kGibibyte;
constexpr std::int64_t kDefaultDdrCap = 128 * kGibibyte;

Status check_bytes(std::int64_t bytes, std::int64_t world_size, const std::string& where) {
  if (bytes < 0) return invalid_input(where, "memory per rank must not be negative");
  if (bytes > kMaxRankBytes) {
    return invalid_input(where, "memory per rank must be at most 2^53 bytes (8 PiB)");
  }
  if (bytes > kMaxTotalBytes / world_size) {
    return invalid_input(where, "memory of all ranks together must be at most 2^62 bytes (4 EiB)");
  }
  return {};
}

// If `splits_rows`, rows are split in proportion to these sizes, so at least one must be above 0.
Status check_custom(const std::vector<std::int64_t>& caps, std::int64_t world_size,
                    bool splits_rows, const std::string& where) {
  if (caps.empty()) return {};
  if (static_cast<std::int64_t>(caps.size()) != world_size) {
    return invalid_input(where, "must give one size per rank: " + std::to_string(world_size) +
                                    " ranks, " + std::to_string(caps.size()) + " sizes");
  }
  bool any = false;
  for (std::size_t i = 0; i < caps.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_bytes(caps[i], world_size, where + "/" + std::to_string(i)));
    any = any || caps[i] > 0;
  }
  if (splits_rows && !any) return invalid_input(where, "at least one rank must have memory");
  return {};
}

Status check_positive(double value, const char* where) {
  if (!(value > 0) || !std::isfinite(value)) {
    return invalid_input(where, "must be a finite number above zero");
  }
  return {};
}

Status check_multiplier(double value, const char* where) {
  if (!(value >= 0) || !std::isfinite(value)) {
    return invalid_input(where, "must be a finite number, zero or above");
  }
  return {};
}

// Returns the number of ranks of a sharding group among `linked` consecutive ranks of the machine.
std::int64_t ranks_of_group(const TopologySpec& spec, std::int64_t size, std::int64_t linked) {
  if (spec.groups && spec.groups->use_inter_host_allreduce) return std::min(size, linked);
  return std::max<std::int64_t>(linked / (spec.world_size / size), 1);
}

// Returns true if some ranks may belong to no host. Sharding groups, and pods of several possible
// sizes, must fill the machine.
bool may_be_uneven(const TopologySpec& spec) { return !spec.groups && spec.pod_sizes.size() <= 1; }

// Returns the ranks of a sharding group on one of its pods, or 0 if the layout does not fit the
// machine: a group needs equally many ranks on each of its pods, and replicas must lie alike.
std::int64_t ranks_per_host(const TopologySpec& spec, const MachineLayout& layout) {
  const std::int64_t size = layout.group_size;
  if (may_be_uneven(spec)) return spec.local_world_size * layout.pod_size;
  if (size < 1 || layout.pod_size < 1 || spec.world_size % size != 0) return 0;
  const std::int64_t hosts = spec.world_size / spec.local_world_size;
  if (hosts % layout.pod_size != 0) return 0;
  const std::int64_t linked = spec.local_world_size * layout.pod_size;
  const std::int64_t replicas = spec.world_size / size;
  const auto divides = [](std::int64_t a, std::int64_t b) { return a % b == 0 || b % a == 0; };
  const bool consecutive = spec.groups && spec.groups->use_inter_host_allreduce;
  return divides(consecutive ? size : replicas, linked) ? ranks_of_group(spec, size, linked) : 0;
}

Status check_ascending(const std::vector<std::int64_t>& sizes, const std::string& where) {
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] <= sizes[i - 1])
      return invalid_input(where + "/" + std::to_string(i),
                           "sizes must be different and ascending");
  }
  return {};
}

// Source: Topology.__init__, torchrec/distributed/planner/types.py of TorchRec 1.9.2.
Status check_pod(const TopologySpec& spec) {
  if (spec.pod_sizes.empty()) return {};
  const std::int64_t hosts = spec.pod_sizes.front();
  if (hosts < 1 || hosts > spec.world_size) {
    return invalid_input("/pod_size", "must be from 1 host to as many as there are ranks (" +
                                          std::to_string(spec.world_size) + "), is " +
                                          std::to_string(hosts));
  }
  if (hosts > kMaxWorldSize / spec.local_world_size)
    return invalid_input("/pod_size", "a pod must have at most 1048576 ranks");
  return {};
}

Status check_pods(const TopologySpec& spec) {
  if (may_be_uneven(spec)) return check_pod(spec);
  for (std::size_t i = 0; i < spec.pod_sizes.size(); ++i) {
    if (ranks_per_host(spec, {spec.world_size, spec.pod_sizes[i]}) == 0) {
      return invalid_input("/pod_size/" + std::to_string(i),
                           "pods of " + std::to_string(spec.pod_sizes[i]) +
                               " hosts do not divide " +
                               std::to_string(spec.world_size / spec.local_world_size) + " hosts");
    }
  }
  return check_ascending(spec.pod_sizes, "/pod_size");
}

// Returns the possible sizes of pods.
std::vector<std::int64_t> pod_sizes(const TopologySpec& spec) {
  return spec.pod_sizes.empty() ? std::vector<std::int64_t>{1} : spec.pod_sizes;
}

bool fits_any_pods(const TopologySpec& spec, std::int64_t group_size) {
  const std::vector<std::int64_t> pods = pod_sizes(spec);
  return std::any_of(pods.begin(), pods.end(), [&](std::int64_t pod) {
    return ranks_per_host(spec, {group_size, pod}) != 0;
  });
}

// Returns a text such as "1, 2, 4" with at most twelve sizes.
std::string fitting_group_sizes(const TopologySpec& spec) {
  constexpr int kMost = 12;
  std::string sizes;
  int count = 0;
  for (std::int64_t size = 1; size <= spec.world_size && count < kMost; ++size) {
    if (spec.world_size % size != 0 || !fits_any_pods(spec, size)) continue;
    sizes += (count++ == 0 ? "" : ", ") + std::to_string(size);
  }
  return sizes;
}

Status check_groups(const TopologySpec& spec) {
  const ShardingGroupSpec& groups = *spec.groups;
  for (std::size_t i = 0; i < groups.sizes.size(); ++i) {
    if (fits_any_pods(spec, groups.sizes[i])) continue;
    return invalid_input("/sharding_groups/size/" + std::to_string(i),
                         "groups of " + std::to_string(groups.sizes[i]) + " ranks do not divide " +
                             std::to_string(spec.world_size) + " ranks on hosts of " +
                             std::to_string(spec.local_world_size) +
                             " evenly; sizes that fit: " + fitting_group_sizes(spec));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_ascending(groups.sizes, "/sharding_groups/size"));
  if (groups.sync_interval < 1)
    return invalid_input("/sharding_groups/sync_interval", "must be at least 1 training step");
  if (spec.compute_device == ComputeDevice::kCpu)
    return invalid_input("/sharding_groups", "TorchRec has them on cuda and mtia only");
  const bool by_rank = std::any_of(kMemoryTiers.begin(), kMemoryTiers.end(), [&](MemoryTier tier) {
    return !spec.custom_cap_bytes(tier).empty();
  });
  if (by_rank && groups.sizes.size() != 1)
    return invalid_input("/sharding_groups/size", "memory by rank needs one size of groups");
  return {};
}

bool is_open(const TopologySpec& spec) {
  return (spec.groups && spec.groups->sizes.size() != 1) || spec.pod_sizes.size() > 1;
}

// Returns the layout of `spec`, or the layout of the whole machine if several are possible.
MachineLayout layout_of(const TopologySpec& spec) {
  if (is_open(spec)) return {spec.world_size, 1};
  return {spec.groups ? spec.groups->sizes.front() : spec.world_size, pod_sizes(spec).front()};
}

// If a host is less than half full, TorchRec estimates a negative time for averaging the gradients
// X._default_bwd_comms,
Status check_hosts(const TopologySpec& spec) {
  const std::string sizes = "ranks per host (" + std::to_string(spec.local_world_size) + ")";
  const std::string ranks = "the number of ranks (" + std::to_string(spec.world_size) + ")";
  const std::string where = "/local_world_size";
  if (spec.local_world_size < 1) return invalid_input(where, sizes + " must be at least 1");
  if (spec.local_world_size > 2 * spec.world_size)
    return invalid_input(where, sizes + " must be at most twice " + ranks);
  if (!may_be_uneven(spec) && spec.world_size % spec.local_world_size != 0) {
    return invalid_input(where, sizes + " must divide " + ranks +
                                    " where there are sharding groups or pods to choose from");
  }
  return {};
}

Status check(const TopologySpec& spec) {
  if (spec.world_size < 1 || spec.world_size > kMaxWorldSize) {
    return invalid_input("/world_size", "must be between 1 and 1048576 ranks, is " +
                                            std::to_string(spec.world_size));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_hosts(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_bytes(spec.hbm_cap_bytes.value_or(0), spec.world_size, "/hbm_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_bytes(spec.ddr_cap_bytes.value_or(0), spec.world_size, "/ddr_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_bytes(spec.ssd_cap_bytes.value_or(0), spec.world_size, "/ssd_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_pods(spec));
  if (spec.groups) SHARDWRIGHT_RETURN_IF_ERROR(check_groups(spec));
  const bool on_cpu = spec.compute_device == ComputeDevice::kCpu;
  const std::int64_t ranks = layout_of(spec).group_size;
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_custom(spec.custom_hbm_cap_bytes, ranks, !on_cpu, "/custom/hbm_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_custom(spec.custom_ddr_cap_bytes, ranks, on_cpu, "/custom/ddr_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_custom(spec.custom_ssd_cap_bytes, ranks, false, "/custom/ssd_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.intra_host_bw, "/intra_host_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.inter_host_bw, "/inter_host_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.hbm_mem_bw, "/hbm_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.ddr_mem_bw, "/ddr_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.hbm_to_ddr_mem_bw, "/hbm_to_ddr_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.ssd_mem_bw, "/ssd_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_multiplier(spec.bwd_compute_multiplier, "/bwd_compute_multiplier"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_multiplier(spec.weighted_feature_bwd_compute_multiplier,
                                               "/weighted_feature_bwd_compute_multiplier"));
  return check_multiplier(spec.uneven_sharding_perf_multiplier, "/uneven_sharding_perf_multiplier");
}

}  // namespace

void TopologySpec::set_cap_bytes(MemoryTier tier, std::int64_t bytes) {
  switch (tier) {
    case MemoryTier::kHbm:
      hbm_cap_bytes = bytes;
      break;
    case MemoryTier::kDdr:
      ddr_cap_bytes = bytes;
      break;
    case MemoryTier::kSsd:
      ssd_cap_bytes = bytes;
      break;
  }
}

const std::vector<std::int64_t>& TopologySpec::custom_cap_bytes(MemoryTier tier) const {
  switch (tier) {
    case MemoryTier::kHbm:
      return custom_hbm_cap_bytes;
    case MemoryTier::kDdr:
      return custom_ddr_cap_bytes;
    case MemoryTier::kSsd:
      break;
  }
  return custom_ssd_cap_bytes;
}

std::vector<std::int64_t>& TopologySpec::custom_cap_bytes(MemoryTier tier) {
  return const_cast<std::vector<std::int64_t>&>(std::as_const(*this).custom_cap_bytes(tier));
}

Topology::Topology(TopologySpec spec, std::uint32_t local_world_size, std::vector<Storage> storage)
    : spec_(std::move(spec)),
      local_world_size_(local_world_size),
      ranks_per_physical_host_(static_cast<std::uint32_t>(ranks_of_group(
          spec_, static_cast<std::int64_t>(storage.size()), spec_.local_world_size))),
      storage_(std::move(storage)) {
  for (const Storage& rank : storage_) {
    uniform_ = uniform_ && rank == storage_.front();
    has_ssd_ = has_ssd_ || rank.ssd > Bytes(0);
  }
}

Result<Topology> Topology::make(TopologySpec spec) {
  if (spec.local_world_size == 0) spec.local_world_size = spec.world_size;
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec));
  if (!spec.hbm_cap_bytes) spec.hbm_cap_bytes = kDefaultHbmCap;
  if (!spec.ddr_cap_bytes) spec.ddr_cap_bytes = kDefaultDdrCap;

  const bool has_hbm = spec.compute_device != ComputeDevice::kCpu;
  const MachineLayout layout = layout_of(spec);
  const std::int64_t local = ranks_per_host(spec, layout);
  std::vector<Storage> storage(
      static_cast<std::size_t>(layout.group_size),
      Storage{Bytes(has_hbm ? *spec.hbm_cap_bytes : 0), Bytes(*spec.ddr_cap_bytes),
              Bytes(spec.ssd_cap_bytes.value_or(0))});
  for (const MemoryTier tier : kMemoryTiers) {
    const std::vector<std::int64_t>& caps = spec.custom_cap_bytes(tier);
    for (std::size_t i = 0; i < caps.size(); ++i)
      storage[i][tier] = Bytes(caps[i]);
  }
  return Topology(std::move(spec), static_cast<std::uint32_t>(local), std::move(storage));
}

Topology Topology::with_storage(std::vector<Storage> storage) const {
  SHARDWRIGHT_CHECK(storage.size() == storage_.size());
  return Topology(spec_, local_world_size_, std::move(storage));
}

std::vector<MachineLayout> Topology::layouts() const {
  std::vector<MachineLayout> layouts;
  if (!is_open(spec_)) return layouts;
  const auto add = [&](std::int64_t size) {
    for (const std::int64_t pod : pod_sizes(spec_)) {
      if (ranks_per_host(spec_, {size, pod}) != 0) layouts.push_back({size, pod});
    }
  };
  if (!spec_.groups) {
    add(spec_.world_size);
  } else if (!spec_.groups->sizes.empty()) {
    for (const std::int64_t size : spec_.groups->sizes)
      add(size);
  } else {
    for (std::int64_t size = 1; size <= spec_.world_size; ++size)
      add(size);
  }
  return layouts;
}

double Topology::sync_ms_per_byte(double bandwidth, std::int64_t linked) const {
  const std::uint32_t replicas = num_replicas();
  if (replicas == 1) return 0;
  // The number of consecutive ranks within which the replicas of a shard lie.
  const std::int64_t span =
      spec_.groups->use_inter_host_allreduce ? spec_.world_size : std::int64_t{replicas};
  const double link = span <= linked ? spec_.intra_host_bw : spec_.inter_host_bw;
  const double sent = 2.0 * (replicas - 1) / replicas;
  return sent / std::min(link, bandwidth) / static_cast<double>(spec_.groups->sync_interval);
}

TopologySpec with_layout(TopologySpec spec, const MachineLayout& layout) {
  if (spec.groups) spec.groups->sizes = {layout.group_size};
  if (!spec.pod_sizes.empty()) spec.pod_sizes = {layout.pod_size};
  return spec;
}

Storage Topology::total_storage() const {
  Storage total;
  for (const Storage& rank : storage_)
    total += rank;
  return total;
}

}  // namespace shardwright::embedding
