#include "core/embedding/problem/topology.h"

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

// `splits_rows`: rows are split in proportion to these sizes, so at least one must be above 0.
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

Status check(const TopologySpec& spec) {
  if (spec.world_size < 1 || spec.world_size > kMaxWorldSize) {
    return invalid_input("/world_size", "must be between 1 and 1048576 ranks, is " +
                                            std::to_string(spec.world_size));
  }
  if (spec.local_world_size < 1 || spec.world_size % spec.local_world_size != 0) {
    return invalid_input("/local_world_size",
                         "ranks per host (" + std::to_string(spec.local_world_size) +
                             ") must divide the number of ranks (" +
                             std::to_string(spec.world_size) + ")");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_bytes(spec.hbm_cap_bytes, spec.world_size, "/hbm_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_bytes(spec.ddr_cap_bytes, spec.world_size, "/ddr_cap"));
  const bool on_cpu = spec.compute_device == ComputeDevice::kCpu;
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_custom(spec.custom_hbm_cap_bytes, spec.world_size, !on_cpu, "/custom/hbm_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_custom(spec.custom_ddr_cap_bytes, spec.world_size, on_cpu, "/custom/ddr_cap"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.intra_host_bw, "/intra_host_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.inter_host_bw, "/inter_host_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.hbm_mem_bw, "/hbm_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.ddr_mem_bw, "/ddr_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_positive(spec.hbm_to_ddr_mem_bw, "/hbm_to_ddr_mem_bw"));
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_multiplier(spec.bwd_compute_multiplier, "/bwd_compute_multiplier"));
  SHARDWRIGHT_RETURN_IF_ERROR(check_multiplier(spec.weighted_feature_bwd_compute_multiplier,
                                               "/weighted_feature_bwd_compute_multiplier"));
  return check_multiplier(spec.uneven_sharding_perf_multiplier, "/uneven_sharding_perf_multiplier");
}

}  // namespace

Topology::Topology(TopologySpec spec, std::vector<Storage> storage)
    : spec_(std::move(spec)), storage_(std::move(storage)) {
  for (const Storage& rank : storage_) uniform_ = uniform_ && rank == storage_.front();
}

Result<Topology> Topology::make(TopologySpec spec) {
  if (spec.local_world_size == 0) spec.local_world_size = spec.world_size;
  SHARDWRIGHT_RETURN_IF_ERROR(check(spec));
  if (spec.hbm_cap_bytes == 0) spec.hbm_cap_bytes = kDefaultHbmCap;
  if (spec.ddr_cap_bytes == 0) spec.ddr_cap_bytes = kDefaultDdrCap;

  const bool has_hbm = spec.compute_device != ComputeDevice::kCpu;
  std::vector<Storage> storage(static_cast<std::size_t>(spec.world_size),
                               Storage{Bytes(has_hbm ? spec.hbm_cap_bytes : 0),
                                       Bytes(spec.ddr_cap_bytes)});
  for (std::size_t i = 0; i < spec.custom_hbm_cap_bytes.size(); ++i) {
    storage[i].hbm = Bytes(spec.custom_hbm_cap_bytes[i]);
  }
  for (std::size_t i = 0; i < spec.custom_ddr_cap_bytes.size(); ++i) {
    storage[i].ddr = Bytes(spec.custom_ddr_cap_bytes[i]);
  }
  return Topology(std::move(spec), std::move(storage));
}

Topology Topology::with_storage(std::vector<Storage> storage) const {
  SHARDWRIGHT_CHECK(storage.size() == storage_.size());
  return Topology(spec_, std::move(storage));
}

Storage Topology::total_storage() const {
  Storage total;
  for (const Storage& rank : storage_) total += rank;
  return total;
}

}  // namespace shardwright::embedding
