// Constants of NCCL's tuning: what its algorithms and protocols can do on each architecture.
// Source: NCCL's src/graph/tuning.cc (baseLatencies, hwLatencies, llMaxBws, perChMax*Bws,
// nvlsEfficiency, treeCorrectionFactor), as AutoParallel (meta-pytorch/autoparallel, a54c2529) has
// them in autoparallel/cost_models/nccl_cost_model.py; the ring's ramp and its overhead per node
// are fitted there.
#pragma once

#include <array>
#include <cstddef>

#include "core/redistribution/cost/nccl/tuning/nccl_config.h"

namespace shardwright::redistribution::nccl {

enum class Algorithm { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree };
enum class Protocol { kLl, kLl128, kSimple };

inline constexpr std::size_t kNumAlgorithms = 6;
inline constexpr std::size_t kNumProtocols = 3;
inline constexpr std::size_t kNumArchitectures = 3;
inline constexpr std::size_t kNumSizes = 24;

// Bytes per microsecond of one GB/s.
inline constexpr double kBytesPerUs = 1000.0;

// By architecture, algorithm and so on: an entry per value of the enum, in its order.
template <class Enum>
constexpr std::size_t index_of(Enum value) {
  return static_cast<std::size_t>(value);
}

using ByProtocol = std::array<double, kNumProtocols>;
// On one node, on two, on more.
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
// Of all channels together.
inline constexpr Bandwidths kMaxLl = {{
    {87.7, 39.0, 20.4},   // AMPERE
    {141.0, 39.0, 20.4},  // HOPPER
    {282.0, 39.0, 20.4},  // BLACKWELL
}};
// Of one channel.
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

// By architecture.
inline constexpr std::array<double, kNumArchitectures> kNvlsEfficiency = {0.0, 0.85, 0.74};
inline constexpr std::array<int, kNumArchitectures> kDefaultChannels = {12, 16, 16};

// The share of its bandwidth that a tree has, by protocol and total size.
// NCCL ignores the last entry for trees, and not for NVLS trees.
inline constexpr std::size_t kNumTreeSizes = 23;
inline constexpr std::array<SizeTable, kNumProtocols> kTreeCorrection = {{
    {1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9},
}};
// The share that a ring over several nodes has, by size per GPU.
inline constexpr SizeTable kRingCorrection = {1.0,  1.0,  1.0,  1.0, 1.0,  1.0, 1.0,  1.0,
                                              1.0,  1.0,  1.0,  0.1, 0.18, 0.3, 0.43, 0.63,
                                              0.55, 0.78, 0.93, 1.0, 1.0,  1.0, 1.0,  1.0};
// Microseconds per node that a ring over several nodes takes to synchronise.
inline constexpr double kRingSyncPerNodeUs = 4.7;
// Microseconds of a step through the network at least; three times that for Simple.
inline constexpr double kNetworkOverheadUs = 1.0;

}  // namespace shardwright::redistribution::nccl
