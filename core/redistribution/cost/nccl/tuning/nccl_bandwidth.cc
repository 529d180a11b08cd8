// Bandwidths of algorithms. Source: NCCL's tuning.cc, in the order of operations of AutoParallel's
// _compute_algo_bw.
#include <algorithm>
#include <limits>

#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"

namespace shardwright::redistribution::nccl {
namespace {

// NVLS and collnet exist in the Simple protocol only.
constexpr double kRingLl = 0.5;
constexpr double kRingLl128 = 0.92;
constexpr double kTree = 0.92;
constexpr double kTreeLlDivisor = 3.8;
constexpr double kTreeLl128OneNode = 7.0 / 9.0;
constexpr double kTreeLl128 = 120.0 / 128.0;
constexpr double kUpAndDown = 0.5;  // what passes a tree or the network twice
constexpr double kCollnetNetwork = 0.9;
constexpr double kCollnetHopper = 0.85;
constexpr double kNvlsAllReduce = 2.0;  // it reduces and multicasts at the same time

double at(const Bandwidths& table, const Group& group) {
  const std::size_t bucket = group.axis.nodes <= 1 ? 0 : group.axis.nodes <= 2 ? 1 : 2;
  return table[index_of(group.config.architecture)][bucket];
}

// Of one channel between nodes. A switch lets a rank use the network links of all ranks of its
// node.
double between_nodes(const Group& group) {
  const NcclAxis& axis = group.axis;
  if (!group.config.has_nvswitch || axis.nodes <= 1) return axis.bw_inter_gb_per_s;
  return std::min(axis.bw_intra_gb_per_s,
                  axis.bw_inter_gb_per_s * static_cast<double>(axis.ranks_per_node));
}

double of_all_channels(const Group& group) {
  return group.axis.channels *
         (group.axis.nodes <= 2 ? group.axis.bw_intra_gb_per_s : between_nodes(group));
}

// What a rank gets done in units of what passes its links. A single rank sends nothing; the source
// divides by zero there.
double ranks_per_step(const Group& group, Collective collective) {
  const std::int64_t steps =
      collective == Collective::kAllReduce ? 2 * (group.axis.ranks - 1) : group.axis.ranks - 1;
  if (steps == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(group.axis.ranks) / static_cast<double>(steps);
}

double ring(const Group& group, Collective collective, Protocol protocol) {
  double bandwidth = of_all_channels(group);
  if (protocol == Protocol::kLl) bandwidth = std::min(at(kMaxLl, group), bandwidth * kRingLl);
  if (protocol == Protocol::kLl128) {
    bandwidth = std::min(bandwidth * kRingLl128, group.axis.channels * at(kMaxRingLl128, group));
  }
  return bandwidth * ranks_per_step(group, collective);
}

double tree(const Group& group, Protocol protocol) {
  double bandwidth =
      std::min(of_all_channels(group) * kTree, group.axis.channels * at(kMaxTree, group));
  if (protocol == Protocol::kLl) {
    bandwidth = std::min(bandwidth / kTreeLlDivisor, at(kMaxLl, group));
  }
  if (protocol == Protocol::kLl128) {
    bandwidth = std::min(bandwidth * (group.axis.nodes == 1 ? kTreeLl128OneNode : kTreeLl128),
                         group.axis.channels * at(kMaxTreeLl128, group));
  }
  return bandwidth * kUpAndDown;
}

// Of one channel within a node. One channel does no NVLS.
double nvls_channel(const Group& group) {
  const int channels = group.axis.channels;
  return group.axis.bw_intra_gb_per_s * kNvlsEfficiency[index_of(group.config.architecture)] *
         (channels - 1) / channels;
}

double nvls(const Group& group, Collective collective) {
  const NcclAxis& axis = group.axis;
  const bool all_reduce = collective == Collective::kAllReduce;
  if (!all_reduce && axis.nodes > 1 && !group.config.has_collnet) return 0;
  const double ranks_per_node = static_cast<double>(axis.ranks_per_node);
  double channel =
      nvls_channel(group) * (all_reduce ? kNvlsAllReduce : (ranks_per_node - 1) / ranks_per_node);
  if (axis.nodes > 1) channel = std::min(channel, axis.bw_inter_gb_per_s);
  const double bandwidth = axis.channels * channel;
  return all_reduce ? bandwidth * ranks_per_step(group, collective) : bandwidth;
}

double nvls_tree(const Group& group) {
  const double within = nvls_channel(group) * kNvlsAllReduce;
  const double between = between_nodes(group) * (group.axis.nodes <= 2 ? 2 : 1);
  const double channel = std::min({within, between, at(kMaxNvlsTree, group)});
  return group.axis.channels * channel * ranks_per_step(group, Collective::kAllReduce);
}

double collnet_direct(const Group& group, Collective collective) {
  const NcclAxis& axis = group.axis;
  const double ranks_per_node = static_cast<double>(axis.ranks_per_node);
  if (collective != Collective::kAllReduce) {
    return ranks_per_node * std::min(axis.bw_intra_gb_per_s * axis.channels,
                                     axis.bw_inter_gb_per_s * axis.channels * kCollnetNetwork);
  }
  double share = ranks_per_node / axis.channels;
  share -= (share - 1) / 2;
  double bandwidth = of_all_channels(group) / share;
  if (group.config.architecture != GpuArchitecture::kAmpere) bandwidth *= kCollnetHopper;
  return bandwidth * kUpAndDown;
}

}  // namespace

double bandwidth_gb_per_s(const Group& group, Collective collective, Method method) {
  const bool several_channels = group.axis.channels > 1;
  switch (method.algorithm) {
    case Algorithm::kRing:
      return ring(group, collective, method.protocol);
    case Algorithm::kTree:
      return tree(group, method.protocol);
    case Algorithm::kNvls:
      return several_channels ? nvls(group, collective) : 0;
    case Algorithm::kNvlsTree:
      return several_channels ? nvls_tree(group) : 0;
    case Algorithm::kCollnetDirect:
      return collnet_direct(group, collective);
    case Algorithm::kCollnetChain:
      break;
  }
  return of_all_channels(group) * kUpAndDown;
}

}  // namespace shardwright::redistribution::nccl
