// Source: NCCL's tuning.cc (ncclTopoGetAlgoTime), in the order of operations of AutoParallel's
// _nccl_algo_time.
#include "core/redistribution/cost/nccl/tuning/nccl_algorithms.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/redistribution/cost/nccl/tuning/size_tables.h"

namespace shardwright::redistribution::nccl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Protocol kProtocols[] = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};
// A ring between nodes has this much more latency from this size per channel and rank on.
constexpr double kPlateauBytes = 64;
constexpr double kPlateauFactor = 1.4;
// Pipelines through more nodes than this fill more slowly: the ramp is raised to a power that grows
// by kRampPower whenever the number of nodes doubles.
constexpr std::int64_t kRampNodes = 4;
constexpr double kRampPower = 0.2;
// An entry is at most this many times the one before, so that doubling a message never makes it
// faster.
constexpr double kRampGrowth = 2.0;

SizeTable ramp_of_ring(std::int64_t nodes) {
  SizeTable table = kRingCorrection;
  if (nodes <= kRampNodes) return table;
  const double power = 1.0 + kRampPower * (log2_floor(nodes) - log2_floor(kRampNodes));
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i] < 1.0) table[i] = std::pow(table[i], power);
    if (i > 0) table[i] = std::min(table[i], kRampGrowth * table[i - 1]);
  }
  return table;
}

// The share of its bandwidth that the method has at this size.
double size_correction(const Group& group, Method method, std::int64_t bytes) {
  const SizeTable& tree = kTreeCorrection[index_of(method.protocol)];
  const std::size_t size = size_index(bytes);
  const bool blackwell = group.config.architecture == GpuArchitecture::kBlackwell;
  if (method.algorithm == Algorithm::kTree && size < kNumTreeSizes) return tree[size];
  if (method.algorithm == Algorithm::kNvlsTree && blackwell && size < kNumSizes) return tree[size];
  if (method.algorithm == Algorithm::kRing && group.axis.nodes > 1) {
    return interpolated(group.ring_ramp, bytes / group.axis.ranks);
  }
  return 1;
}

bool is_on_plateau(const Group& group, Collective collective, Method method, std::int64_t bytes) {
  if (method.algorithm != Algorithm::kRing || method.protocol != Protocol::kSimple) return false;
  if (collective != Collective::kAllReduce || group.axis.nodes <= 1) return false;
  const double parts = static_cast<double>(group.axis.channels * group.axis.ranks);
  return static_cast<double>(bytes) / parts >= kPlateauBytes;
}

}  // namespace

Group Group::make(const NcclConfig& config, const NcclAxis& axis) {
  return {config, axis, ramp_of_ring(axis.nodes)};
}

double method_us(const Group& group, Collective collective, Method method, std::int64_t bytes) {
  double bandwidth = bandwidth_gb_per_s(group, collective, method);
  if (bandwidth <= 0) return kInfinity;
  bandwidth *= size_correction(group, method, bytes);
  double latency = latency_us(group, collective, method);
  if (is_on_plateau(group, collective, method, bytes)) latency *= kPlateauFactor;
  return latency + static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

double ring_us(const Group& group, Collective collective, std::int64_t bytes) {
  double best = kInfinity;
  for (const Protocol protocol : kProtocols) {
    best = std::min(best, method_us(group, collective, {Algorithm::kRing, protocol}, bytes));
  }
  return best;
}

double tuned_us(const Group& group, Collective collective, std::int64_t bytes) {
  const bool all_reduce = collective == Collective::kAllReduce;
  double best = ring_us(group, collective, bytes);
  const auto consider = [&](Algorithm algorithm, Protocol protocol) {
    best = std::min(best, method_us(group, collective, {algorithm, protocol}, bytes));
  };
  if (all_reduce) {
    for (const Protocol protocol : kProtocols)
      consider(Algorithm::kTree, protocol);
  }
  if (group.config.has_collnet) {
    consider(Algorithm::kCollnetDirect, Protocol::kSimple);
    if (all_reduce) consider(Algorithm::kCollnetChain, Protocol::kSimple);
  }
  if (group.has_nvls()) {
    consider(Algorithm::kNvls, Protocol::kSimple);
    if (all_reduce && group.axis.nodes > 1) consider(Algorithm::kNvlsTree, Protocol::kSimple);
  }
  return best;
}

}  // namespace shardwright::redistribution::nccl
