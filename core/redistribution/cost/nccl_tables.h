// Parameters of NCCL's cost model: machines, groups of ranks along mesh axes, and constants.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

enum class GpuArchitecture { kAmpere, kHopper, kBlackwell };

// GB = 10^9 bytes, as in NCCL. Bandwidths are per GPU, over all channels together.
// Thread safety: a value.
struct NcclConfig {
  GpuArchitecture architecture = GpuArchitecture::kHopper;
  std::int64_t gpus_per_node = 8;
  double bw_intra_gb_per_s = 0;
  double bw_inter_gb_per_s = 0;
  int channels = 0;  // 0: NCCL's default, which is 12 for Ampere and 16 for later GPUs
  bool has_nvswitch = false;
  bool has_collnet = false;   // collectives inside the network (SHARP)
  double net_latency_us = 0;  // added to the latency of the network hardware
};

// AutoParallel's configurations: DGX A100; DGX H100, also for H200; GB200 NVL72, also for B200.
// Source: a100_topo_config, h100_topo_config and gb200_topo_config of AutoParallel's
// autoparallel/cost_models/nccl_cost_model.py.
NcclConfig a100_nccl_config(std::int64_t gpus_per_node = 8);
NcclConfig h100_nccl_config(std::int64_t gpus_per_node = 8);
NcclConfig gb200_nccl_config(std::int64_t gpus_per_node = 72);

// Returns the configuration that AutoParallel uses for a CUDA device ("NVIDIA H100 80GB HBM3").
// Returns nullopt if AutoParallel does not know the device, or if the mesh does not fill nodes of
// the usual size (8 GPUs, 72 of Blackwell); AutoParallel then uses FlatCosts.
std::optional<NcclConfig> find_nccl_config(std::string_view device_name, const MeshShape& mesh);

// Errors (kInvalidInput, with the place below the configuration): counts below 1 (`channels` below
// 0) or above 2^20; bandwidths that are not positive; latencies that are negative; numbers that are
// not finite.
Status check_nccl_config(const NcclConfig& config);

// The ranks along one or several axes, spread over nodes. Bandwidths are per channel.
struct NcclAxis {
  std::int64_t ranks;
  std::int64_t nodes;
  std::int64_t ranks_per_node;
  int channels;
  double bw_intra_gb_per_s;
  double bw_inter_gb_per_s;
};

// Precondition: the mesh and the configuration were checked.
// Source: derive_mesh_dim_topo. `nodes` does not count ranks that do not fill a node.
NcclAxis nccl_axis(const NcclConfig& config, const MeshShape& mesh, std::size_t axis);
// The same for the communicator that spans several axes, in any order and not necessarily adjacent.
// Its ranks per node: for each axis, how many ranks along the axis fit on a node; then the product.
// The product is exact if the ranks of a node are a multiple of the stride of every axis.
NcclAxis nccl_group(const NcclConfig& config, const MeshShape& mesh, const Axes& axes);

}  // namespace shardwright::redistribution

namespace shardwright::redistribution::nccl {

enum class Algorithm { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree };
enum class Protocol { kLl, kLl128, kSimple };

inline constexpr std::size_t kNumAlgorithms = 6;
inline constexpr std::size_t kNumProtocols = 3;
inline constexpr std::size_t kNumArchitectures = 3;
inline constexpr std::size_t kNumSizes = 24;

// Bytes per microsecond of one GB/s.
inline constexpr double kBytesPerUs = 1000.0;

// Tables are indexed by enumerations: by architecture, algorithm or protocol.
template <class Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

using ByProtocol = std::array<double, kNumProtocols>;
// For one node, two nodes, more nodes.
using ByNodes = std::array<double, 3>;
// By log2 of a size in units of 64 bytes.
using SizeTable = std::array<double, kNumSizes>;

// Latencies in microseconds, by algorithm and protocol.
using Latencies = std::array<ByProtocol, kNumAlgorithms>;
inline constexpr Latencies kBaseLatencies = {{
    {6.8, 14.0, 8.4},  // TREE
    {6.6, 14.0, 8.4},  // RING
    {0.0, 0.0, 0.0},   // COLLNET_DIRECT
    {0.0, 0.0, 0.0},   // COLLNET_CHAIN
    {0.0, 0.0, 0.0},   // NVLS
    {0.0, 0.0, 0.0},   // NVLS_TREE
}};
inline constexpr Latencies kNvlinkLatencies = {{
    {0.6, 1.25, 4.0},  // TREE
    {0.6, 1.9, 3.4},   // RING
    {0.0, 0.0, 3.7},   // COLLNET_DIRECT
    {0.0, 0.0, 2.8},   // COLLNET_CHAIN
    {0.0, 0.0, 25.0},  // NVLS
    {0.0, 0.0, 25.0},  // NVLS_TREE
}};
inline constexpr Latencies kNetworkLatencies = {{
    {5.0, 8.5, 14.0},  // TREE
    {2.7, 4.0, 14.0},  // RING
    {0.0, 0.0, 31.0},  // COLLNET_DIRECT
    {0.0, 0.0, 30.0},  // COLLNET_CHAIN
    {0.0, 0.0, 18.0},  // NVLS
    {0.0, 0.0, 20.9},  // NVLS_TREE
}};

// Bandwidths in GB/s, by architecture.
using Bandwidths = std::array<ByNodes, kNumArchitectures>;
// All channels together:
inline constexpr Bandwidths kMaxLl = {{
    {87.7, 39.0, 20.4},   // AMPERE
    {141.0, 39.0, 20.4},  // HOPPER
    {282.0, 39.0, 20.4},  // BLACKWELL
}};
// One channel:
inline constexpr Bandwidths kMaxTree = {{
    {24.0, 23.6, 17.8},  // AMPERE
    {38.7, 41.4, 36.0},  // HOPPER
    {70.0, 42.8, 24.0},  // BLACKWELL
}};
inline constexpr Bandwidths kMaxTreeLl128 = {{
    {20.0, 20.0, 20.0},   // AMPERE
    {36.7, 36.7, 29.0},   // HOPPER
    {55.6, 31.67, 20.0},  // BLACKWELL
}};
inline constexpr Bandwidths kMaxRingLl128 = {{
    {20.0, 20.0, 20.0},  // AMPERE
    {36.7, 36.7, 36.7},  // HOPPER
    {40.0, 40.0, 40.0},  // BLACKWELL
}};
inline constexpr Bandwidths kMaxNvlsTree = {{
    {24.0, 23.6, 17.8},  // AMPERE
    {0.0, 57.7, 45.5},   // HOPPER
    {0.0, 96.0, 43.8},   // BLACKWELL
}};

// Indexed by architecture.
inline constexpr std::array<double, kNumArchitectures> kNvlsEfficiency = {0.0, 0.85, 0.74};
inline constexpr std::array<int, kNumArchitectures> kDefaultChannels = {12, 16, 16};

// The fraction of its bandwidth that a tree reaches, by protocol and total size. NCCL ignores the
// last entry for trees, but uses it for NVLS trees.
inline constexpr std::size_t kNumTreeSizes = 23;
inline constexpr std::array<SizeTable, kNumProtocols> kTreeCorrection = {{
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9},
}};
// The fraction of its bandwidth that a ring over several nodes reaches, by size per GPU.
inline constexpr SizeTable kRingCorrection = {1.0,  1.0,  1.0,  1.0, 1.0,  1.0, 1.0,  1.0,
                                              1.0,  1.0,  1.0,  0.1, 0.18, 0.3, 0.43, 0.63,
                                              0.55, 0.78, 0.93, 1.0, 1.0,  1.0, 1.0,  1.0};
// The synchronisation of a ring over several nodes, in microseconds per node.
inline constexpr double kRingSyncPerNodeUs = 4.7;
// The minimum of a step through the network in microseconds; three times as much for Simple.
inline constexpr double kNetworkOverheadUs = 1.0;

// A value `y` measured at `x` ranks or nodes.
struct Point {
  int x;
  double y;
};

// The base-2 logarithm of `value`, rounded down; 0 if `value` is not positive.
inline int log2_floor(std::int64_t value) {
  if (value <= 0) return 0;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

// Returns the index of `bytes` in a SizeTable, possibly past its end. Tables begin at 64 bytes.
inline std::size_t size_index(std::int64_t bytes) {
  return static_cast<std::size_t>(log2_floor(bytes >> 6));
}

// Interpolates linearly in log2(bytes). Below the table, returns the first entry; above, the last.
double interpolated(const SizeTable& table, std::int64_t bytes);

// Interpolates linearly; constant outside the points. Preconditions: at least one point; ascending
// x.
double interpolated(std::span<const Point> points, std::int64_t x);

struct LatencyBandwidth {
  double latency_us;
  double bandwidth_gb_per_s;
};

// For one node, by number of ranks.
inline constexpr std::array<Point, 3> kGatherBandwidths = {{{2, 537.0}, {4, 434.0}, {8, 394.0}}};
inline constexpr std::array<Point, 3> kGatherLatencies = {{{2, 8.0}, {4, 17.0}, {8, 30.0}}};
inline constexpr std::array<Point, 3> kAllReduceBandwidths = {{{2, 324.0}, {4, 236.0}, {8, 267.0}}};
inline constexpr std::array<Point, 3> kAllReduceLatencies = {{{2, 10.0}, {4, 15.0}, {8, 31.0}}};
// Blackwell's bandwidth divided by Hopper's.
inline constexpr double kBlackwellScale = 2.0;

// For several nodes. Rows are 2, 4, 8, 16, 32 nodes, each with 1, 2, 4, 8 ranks per node.
using ProtocolRow = std::array<LatencyBandwidth, kNumProtocols>;
using NodeTable = std::array<ProtocolRow, 20>;
// All-gather and reduce-scatter by ring.
inline constexpr NodeTable kGatherRing = {{
    {{{11.6, 48.0}, {22.5, 88.3}, {22.4, 96.0}}},
    {{{11.3, 52.0}, {21.8, 117.8}, {29.2, 128.0}}},
    {{{15.3, 44.6}, {29.4, 201.9}, {42.8, 219.4}}},
    {{{23.3, 41.6}, {44.6, 313.2}, {70.0, 409.6}}},
    {{{21.6, 27.2}, {39.5, 58.9}, {50.4, 64.0}}},
    {{{18.7, 23.3}, {33.6, 100.9}, {64.0, 109.7}}},
    {{{26.7, 21.8}, {48.8, 188.4}, {91.2, 204.8}}},
    {{{42.7, 21.1}, {79.2, 303.1}, {145.6, 396.4}}},
    {{{41.6, 23.3}, {73.5, 50.5}, {106.4, 54.9}}},
    {{{33.5, 21.8}, {57.2, 94.2}, {133.6, 102.4}}},
    {{{49.5, 21.1}, {87.6, 182.3}, {188.0, 198.2}}},
    {{{81.5, 20.7}, {148.4, 298.3}, {296.8, 390.1}}},
    {{{81.6, 21.8}, {141.5, 47.1}, {218.4, 51.2}}},
    {{{63.1, 21.1}, {104.4, 91.2}, {272.8, 99.1}}},
    {{{95.1, 20.7}, {165.2, 179.4}, {381.6, 195.0}}},
    {{{159.1, 20.6}, {286.8, 295.9}, {599.2, 387.0}}},
    {{{161.6, 21.1}, {277.5, 45.6}, {442.4, 49.5}}},
    {{{122.3, 20.7}, {198.8, 89.7}, {551.2, 97.5}}},
    {{{186.3, 20.6}, {320.4, 178.0}, {768.8, 193.5}}},
    {{{314.3, 20.5}, {563.6, 294.8}, {1204.0, 385.5}}},
}};
// All-reduce by tree.
inline constexpr NodeTable kAllReduceTree = {{
    {{{16.8, 9.3}, {31.0, 31.2}, {36.4, 35.2}}},    {{{18.0, 16.6}, {33.5, 62.4}, {44.4, 70.4}}},
    {{{20.4, 16.6}, {38.5, 124.8}, {60.4, 140.8}}}, {{{25.2, 16.6}, {48.5, 124.8}, {92.4, 140.8}}},
    {{{26.8, 4.9}, {48.0, 17.6}, {64.4, 18.8}}},    {{{28.0, 8.7}, {50.5, 35.2}, {72.4, 37.5}}},
    {{{30.4, 8.7}, {55.5, 70.4}, {88.4, 75.1}}},    {{{35.2, 8.7}, {65.5, 98.6}, {120.4, 122.4}}},
    {{{36.8, 4.9}, {65.0, 17.6}, {92.4, 18.8}}},    {{{38.0, 8.7}, {67.5, 35.2}, {100.4, 37.5}}},
    {{{40.4, 8.7}, {72.5, 70.4}, {116.4, 75.1}}},   {{{45.2, 8.7}, {82.5, 98.6}, {148.4, 122.4}}},
    {{{46.8, 4.9}, {82.0, 17.6}, {120.4, 18.8}}},   {{{48.0, 8.7}, {84.5, 35.2}, {128.4, 37.5}}},
    {{{50.4, 8.7}, {89.5, 70.4}, {144.4, 75.1}}},   {{{55.2, 8.7}, {99.5, 98.6}, {176.4, 122.4}}},
    {{{56.8, 4.9}, {99.0, 17.6}, {148.4, 18.8}}},   {{{58.0, 8.7}, {101.5, 35.2}, {156.4, 37.5}}},
    {{{60.4, 8.7}, {106.5, 70.4}, {172.4, 75.1}}},  {{{65.2, 8.7}, {116.5, 98.6}, {204.4, 122.4}}},
}};
// All-reduce by NVLS tree. Rows are 2, 4, 8, 16, 32 nodes, each with 4 and 8 ranks per node.
inline constexpr std::array<LatencyBandwidth, 10> kAllReduceNvlsTree = {{
    {53.0, 160.0},
    {53.0, 266.7},
    {81.0, 80.0},
    {81.0, 160.0},
    {109.0, 80.0},
    {109.0, 160.0},
    {137.0, 80.0},
    {137.0, 160.0},
    {165.0, 80.0},
    {165.0, 160.0},
}};
// The reached fraction of a method's bandwidth, by size per GPU. First: rings over whole nodes.
inline constexpr SizeTable kFullMeshRingRamp = {0.01, 0.02, 0.03, 0.06, 0.1,  0.16, 0.25, 0.36,
                                                0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68,
                                                0.68, 0.68, 0.79, 0.87, 0.87, 0.87, 0.87, 0.87};
inline constexpr SizeTable kNvlsTreeRamp = {1.0, 1.0, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0,
                                            0.1, 0.1, 0.15, 0.28, 0.41, 0.55, 0.72, 0.88,
                                            1.0, 1.0, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0};

// All-to-all by copy engines on one node: GB/s, by architecture. NCCL uses these from Hopper on.
inline constexpr std::array<double, kNumArchitectures> kCopyEngineBandwidth = {0.0, 380.0, 675.0};
inline constexpr double kCopyEngineLatencyUs = 50.0;
// All-to-all on several nodes: latency by number of nodes; lost fraction of the network bandwidth,
// to be divided by the number of nodes; reached fraction by size per GPU.
inline constexpr std::array<Point, 5> kAllToAllLatencies = {
    {{2, 37.0}, {4, 42.0}, {8, 60.0}, {16, 98.0}, {32, 290.0}}};
inline constexpr double kAllToAllNetworkLoss = 0.44;
inline constexpr SizeTable kAllToAllRamp = {1.0,  1.0,  1.0,  1.0,  1.0,  1.0,  1.0,  1.0,
                                            0.28, 0.28, 0.35, 0.43, 0.62, 0.71, 0.82, 0.89,
                                            0.92, 0.95, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0};
// The fraction of a ring's bandwidth that an all-to-all without copy engines reaches.
inline constexpr double kAllToAllRingShare = 0.7;

}  // namespace shardwright::redistribution::nccl

namespace shardwright::redistribution {}  // namespace shardwright::redistribution
