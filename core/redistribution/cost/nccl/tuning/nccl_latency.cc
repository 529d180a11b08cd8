// Latencies of algorithms. Source: NCCL's tuning.cc, in the order of operations of AutoParallel's
// _compute_algo_latency.
#include <algorithm>
#include <cmath>

#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"
#include "core/redistribution/cost/nccl/tuning/size_tables.h"

namespace shardwright::redistribution::nccl {
namespace {

constexpr double kSimpleOverheads = 3;  // network overheads in a step of the Simple protocol
// From here on the overhead of synchronising the nodes of a ring grows with this power.
constexpr double kSyncNodes = 4;
constexpr double kSyncPower = 0.65;
constexpr double kCollnetRankUs = 0.4;

// Of a step within a node, and of one between nodes.
struct StepLatencies {
  double within;
  double between;
};

StepLatencies step_latencies(const Group& group, Method method) {
  const std::size_t protocol = index_of(method.protocol);
  // Ranks alone on their nodes talk to the network as a tree does.
  const Algorithm network = group.axis.ranks_per_node == 1 ? Algorithm::kTree : method.algorithm;
  double between = kNetworkLatencies[index_of(network)][protocol] + group.config.net_latency_us;
  if (method.protocol == Protocol::kSimple) between += group.config.net_latency_us;
  return {kNvlinkLatencies[index_of(method.algorithm)][protocol], between};
}

double sync_us(std::int64_t nodes) {
  const double overhead = kRingSyncPerNodeUs * static_cast<double>(nodes);
  if (nodes <= 4) return overhead;
  return overhead * std::pow(static_cast<double>(nodes) / kSyncNodes, kSyncPower);
}

}  // namespace

double ring_latency_us(const Group& group, Protocol protocol, std::int64_t steps,
                       std::int64_t steps_between) {
  const StepLatencies step = step_latencies(group, {Algorithm::kRing, protocol});
  double overhead = 0;
  if (group.axis.nodes > 1) {
    overhead = kNetworkOverheadUs * (protocol == Protocol::kSimple ? kSimpleOverheads : 1);
  }
  const double within = std::max(step.within, overhead);
  return kBaseLatencies[index_of(Algorithm::kRing)][index_of(protocol)] +
         static_cast<double>(steps - steps_between) * within +
         static_cast<double>(steps_between) * step.between;
}

double latency_us(const Group& group, Collective collective, Method method) {
  const NcclAxis& axis = group.axis;
  const double base = kBaseLatencies[index_of(method.algorithm)][index_of(method.protocol)];
  const StepLatencies step = step_latencies(group, method);
  const double log2_nodes = log2_floor(axis.nodes);
  const std::int64_t tree_ranks = axis.ranks / axis.nodes;  // of a node
  const double ranks_per_node = static_cast<double>(axis.ranks_per_node);
  switch (method.algorithm) {
    case Algorithm::kRing: {
      const std::int64_t rounds = collective == Collective::kAllReduce ? 2 : 1;
      const double steps_us = ring_latency_us(group, method.protocol, rounds * (axis.ranks - 1),
                                              rounds * (axis.nodes - 1));
      return axis.nodes > 1 ? steps_us + sync_us(axis.nodes) : steps_us;
    }
    case Algorithm::kTree:
      return base +
             2 * (static_cast<double>(tree_ranks - 1) * step.within + log2_nodes * step.between);
    case Algorithm::kNvls:
      return step.within + (axis.nodes > 1 ? step.between : 0);
    case Algorithm::kNvlsTree:
      return base + step.within + 2 * log2_nodes * step.between;
    case Algorithm::kCollnetDirect:
      return base +
             2 * (std::min(1.0, ranks_per_node - 1) * step.within +
                  (ranks_per_node - 1) * kCollnetRankUs) +
             step.between;
    case Algorithm::kCollnetChain:
      break;
  }
  return base + 2 * (ranks_per_node - 1) * step.within + step.between;
}

}  // namespace shardwright::redistribution::nccl
