// The machines that NCCL's cost model prices, and the groups of ranks along the axes of a mesh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

enum class GpuArchitecture { kAmpere, kHopper, kBlackwell };

// GB = 10^9 bytes, as in NCCL. Bandwidths are those of one GPU, over all channels together.
// Thread safety: a value.
struct NcclConfig {
  GpuArchitecture architecture = GpuArchitecture::kHopper;
  std::int64_t gpus_per_node = 8;
  double bw_intra_gb_per_s = 0;
  double bw_inter_gb_per_s = 0;
  int channels = 0;  // 0: NCCL's default, 12 for Ampere and 16 later
  bool has_nvswitch = false;
  bool has_collnet = false;   // collectives inside the network (SHARP)
  double net_latency_us = 0;  // of the network beyond its hardware's
};

// AutoParallel's configurations: DGX A100, DGX H100 (also for H200), and GB200 NVL72 (also for
// B200). Source: a100_topo_config, h100_topo_config and gb200_topo_config of AutoParallel's
// autoparallel/cost_models/nccl_cost_model.py.
NcclConfig a100_nccl_config(std::int64_t gpus_per_node = 8);
NcclConfig h100_nccl_config(std::int64_t gpus_per_node = 8);
NcclConfig gb200_nccl_config(std::int64_t gpus_per_node = 72);

// The configuration that AutoParallel takes for a CUDA device, such as "NVIDIA H100 80GB HBM3".
// None if it does not know the device, or if the mesh does not fill nodes of the usual size (8
// GPUs, 72 of Blackwell); it uses FlatCosts then. Source: detect_nccl_topo_config.
std::optional<NcclConfig> find_nccl_config(std::string_view device_name, const MeshShape& mesh);

// Errors (kInvalidInput, with the place below the configuration): counts below 1 (`channels` below
// 0) or above 2^20, bandwidths that are not positive, latencies that are negative, numbers that are
// not finite.
Status check_nccl_config(const NcclConfig& config);

// The ranks along one axis or several, spread over nodes. Bandwidths are those of one channel.
struct NcclAxis {
  std::int64_t ranks;
  std::int64_t nodes;
  std::int64_t ranks_per_node;
  int channels;
  double bw_intra_gb_per_s;
  double bw_inter_gb_per_s;
};

// Precondition: the mesh and the configuration were checked.
// Source: derive_mesh_dim_topo. Ranks that do not fill a node are dropped from `nodes`.
NcclAxis nccl_axis(const NcclConfig& config, const MeshShape& mesh, std::size_t axis);
// The same for the communicator of several axes, which need not be adjacent; their order does not
// matter. A node has the members whose coordinates fit on it along each of the axes. If nodes hold
// whole steps of every axis, that is the number of members on each node.
NcclAxis nccl_group(const NcclConfig& config, const MeshShape& mesh, const Axes& axes);

}  // namespace shardwright::redistribution
