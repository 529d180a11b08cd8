// What collectives were measured to take on H100 nodes with NVSwitch.
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/nccl_cost_model.py: latencies and bandwidths from tuning logs of
// NCCL 2.27.5, the rest fitted to runs of nccl-tests.
#pragma once

#include <array>
#include <cstddef>

#include "core/redistribution/cost/nccl/tuning/nccl_tables.h"
#include "core/redistribution/cost/nccl/tuning/size_tables.h"

namespace shardwright::redistribution::nccl {

struct LatencyBandwidth {
  double latency_us;
  double bandwidth_gb_per_s;
};

// On one node, by number of ranks.
inline constexpr std::array<Point, 3> kGatherBandwidths = {{{2, 537.0}, {4, 434.0}, {8, 394.0}}};
inline constexpr std::array<Point, 3> kGatherLatencies = {{{2, 8.0}, {4, 17.0}, {8, 30.0}}};
inline constexpr std::array<Point, 3> kAllReduceBandwidths = {{{2, 324.0}, {4, 236.0}, {8, 267.0}}};
inline constexpr std::array<Point, 3> kAllReduceLatencies = {{{2, 10.0}, {4, 15.0}, {8, 31.0}}};
// The bandwidth of Blackwell in units of Hopper's.
inline constexpr double kBlackwellScale = 2.0;

// On several nodes. Rows: 2, 4, 8, 16, 32 nodes, and within these 1, 2, 4, 8 ranks per node.
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
// All-reduce by NVLS tree, from 4 ranks per node on: within a number of nodes 4 and 8 ranks per
// node.
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
// The shares of these bandwidths by size per GPU. The first is that of a ring that has all ranks of
// its nodes.
inline constexpr SizeTable kFullMeshRingRamp = {0.01, 0.02, 0.03, 0.06, 0.1,  0.16, 0.25, 0.36,
                                                0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68, 0.68,
                                                0.68, 0.68, 0.79, 0.87, 0.87, 0.87, 0.87, 0.87};
inline constexpr SizeTable kNvlsTreeRamp = {1.0, 1.0, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0,
                                            0.1, 0.1, 0.15, 0.28, 0.41, 0.55, 0.72, 0.88,
                                            1.0, 1.0, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0};

// All-to-all on one node by copy engines, in GB/s, by architecture. NCCL uses them from Hopper on.
inline constexpr std::array<double, kNumArchitectures> kCopyEngineBandwidth = {0.0, 380.0, 675.0};
inline constexpr double kCopyEngineLatencyUs = 50.0;
// All-to-all on several nodes: latency by number of nodes, the share of the network that one node
// alone would lose, and the share that is had by size per GPU.
inline constexpr std::array<Point, 5> kAllToAllLatencies = {
    {{2, 37.0}, {4, 42.0}, {8, 60.0}, {16, 98.0}, {32, 290.0}}};
inline constexpr double kAllToAllNetworkLoss = 0.44;
inline constexpr SizeTable kAllToAllRamp = {1.0,  1.0,  1.0,  1.0,  1.0,  1.0,  1.0,  1.0,
                                            0.28, 0.28, 0.35, 0.43, 0.62, 0.71, 0.82, 0.89,
                                            0.92, 0.95, 1.0,  1.0,  1.0,  1.0,  1.0,  1.0};
// The share of a ring's bandwidth that an all-to-all without copy engines has.
inline constexpr double kAllToAllRingShare = 0.7;

}  // namespace shardwright::redistribution::nccl
