// Source: NCCL's tuning.cc (ncclTopoGetAlgoTime). The order of operations is the one of
// AutoParallel's _nccl_algo_time.

#include "core/redistribution/cost/nccl_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/redistribution/cost/nccl_tables.h"

namespace shardwright::redistribution::nccl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Protocol kProtocols[] = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};
// If an all-reduce ring between nodes has at least this many bytes per channel and rank, its
// latency is multiplied by kPlateauFactor.
constexpr double kPlateauBytes = 64;
constexpr double kPlateauFactor = 1.4;
// With more nodes than this, pipelines fill more slowly. The ramp is then raised to a power that
// grows by kRampPower whenever the number of nodes doubles.
constexpr std::int64_t kRampNodes = 4;
constexpr double kRampPower = 0.2;
// An entry is at most this many times the entry before, so that doubling a message never makes it
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

// Returns the fraction of its bandwidth that the method reaches at this size.
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

namespace {

// Rings and trees have the protocols LL, LL128 and Simple; NVLS and collnet have Simple only.
constexpr double kRingLl = 0.5;
constexpr double kRingLl128 = 0.92;
constexpr double kTree = 0.92;
constexpr double kTreeLlDivisor = 3.8;
constexpr double kTreeLl128OneNode = 7.0 / 9.0;
constexpr double kTreeLl128 = 120.0 / 128.0;
constexpr double kUpAndDown = 0.5;  // data passes a tree or the network twice
constexpr double kCollnetNetwork = 0.9;
constexpr double kCollnetHopper = 0.85;
constexpr double kNvlsAllReduce = 2.0;  // NVLS reduces and multicasts at once

double at(const Bandwidths& table, const Group& group) {
  const std::size_t bucket = group.axis.nodes <= 1 ? 0 : group.axis.nodes <= 2 ? 1 : 2;
  return table[index_of(group.config.architecture)][bucket];
}

// Returns the bandwidth of one channel between nodes. With a switch, a rank can use the network
// links of all ranks of its node.
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

// Returns the ratio of a collective's bandwidth to the bandwidth of the links. Infinite for a
// single rank, which sends nothing; the source divides by zero in this case.
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

// Returns the NVLS bandwidth of a channel within a node. One of the channels carries no NVLS data.
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

namespace {

constexpr double kSimpleOverheads = 3;  // network overheads per step of Simple
// With more nodes than this, the synchronisation overhead of a ring per node grows with this power.
constexpr double kSyncNodes = 4;
constexpr double kSyncPower = 0.65;
constexpr double kCollnetRankUs = 0.4;

// The latencies in us of a step within a node and of a step between nodes.
struct StepLatencies {
  double within;
  double between;
};

StepLatencies step_latencies(const Group& group, Method method) {
  const std::size_t protocol = index_of(method.protocol);
  // With one rank per node, all methods have the network latency of a tree.
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
  const std::int64_t tree_ranks = axis.ranks / axis.nodes;  // ranks of one node
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

namespace {

double copy_engine_us(const Group& group, std::int64_t bytes) {
  const double bandwidth = kCopyEngineBandwidth[index_of(group.config.architecture)];
  return kCopyEngineLatencyUs + static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

// Returns the fraction of the network bandwidth that an all-to-all reaches. Small messages do not
// saturate the network. With more nodes, more messages at a time compensate in part.
double network_correction(const NcclAxis& axis, std::int64_t bytes) {
  const std::size_t size = size_index(bytes / axis.ranks);
  const double correction = size < kNumSizes ? kAllToAllRamp[size] : 1.0;
  const int log2_nodes = log2_floor(axis.nodes);
  if (log2_nodes <= 1 || correction >= 1.0) return correction;
  return 1.0 - (1.0 - correction) / log2_nodes;
}

double network_us(const Group& group, std::int64_t bytes) {
  const NcclAxis& axis = group.axis;
  const double latency = interpolated(kAllToAllLatencies, axis.nodes);
  const double remote_share =
      static_cast<double>(axis.ranks - axis.ranks_per_node) / static_cast<double>(axis.ranks);
  const double bandwidth = group.config.bw_inter_gb_per_s *
                           (1.0 - kAllToAllNetworkLoss / static_cast<double>(axis.nodes));
  return latency + static_cast<double>(bytes) * remote_share /
                       (kBytesPerUs * bandwidth * network_correction(axis, bytes));
}

double ring_steps_us(const Group& group, std::int64_t bytes) {
  const NcclAxis& axis = group.axis;
  const double channel = axis.nodes <= 2 ? axis.bw_intra_gb_per_s : axis.bw_inter_gb_per_s;
  const double bandwidth = axis.channels * channel * kAllToAllRingShare;
  return ring_latency_us(group, Protocol::kSimple, axis.ranks, axis.nodes - 1) +
         static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

}  // namespace

double all_to_all_us(const Group& group, std::int64_t bytes) {
  if (group.has_nvls() && group.axis.nodes == 1) return copy_engine_us(group, bytes);
  if (group.config.has_nvswitch && group.axis.nodes > 1) return network_us(group, bytes);
  return ring_steps_us(group, bytes);
}

namespace {

constexpr std::int64_t kTableMaxNodes = 32;
constexpr std::int64_t kTableMaxRanks = 8;
constexpr std::int64_t kNvlsTreeMinRanks = 4;  // per node

bool is_power_of_two(std::int64_t value) {
  return std::has_single_bit(static_cast<std::uint64_t>(value));
}

bool is_in_tables(const NcclAxis& axis) {
  return axis.nodes >= 2 && axis.nodes <= kTableMaxNodes && is_power_of_two(axis.nodes) &&
         axis.ranks_per_node <= kTableMaxRanks && is_power_of_two(axis.ranks_per_node);
}

// Returns the row in a table of `ranks_rows` rows per number of nodes, from `min_ranks` ranks on.
std::size_t row_of(const NcclAxis& axis, int ranks_rows, std::int64_t min_ranks) {
  const int ranks_row = log2_floor(axis.ranks_per_node) - log2_floor(min_ranks);
  const int row = (log2_floor(axis.nodes) - 1) * ranks_rows + ranks_row;
  return static_cast<std::size_t>(row);
}

const ProtocolRow& row_of(const NodeTable& table, const NcclAxis& axis) {
  return table[row_of(axis, 4, 1)];
}

double scale_of(const Group& group) {
  return group.config.architecture == GpuArchitecture::kBlackwell ? kBlackwellScale : 1.0;
}

double time_us(const LatencyBandwidth& entry, double bandwidth, std::int64_t bytes) {
  return entry.latency_us + static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

// Unlike other corrections, this one ends with the table: larger messages reach full bandwidth.
double full_mesh_correction(const Group& group, std::int64_t bytes) {
  const std::int64_t bytes_per_rank = bytes / group.axis.ranks;
  if (group.axis.ranks_per_node != group.config.gpus_per_node) return 1;
  if (size_index(bytes_per_rank) >= kNumSizes) return 1;
  return interpolated(kFullMeshRingRamp, bytes_per_rank);
}

double gather_us(const Group& group, std::int64_t bytes) {
  const double correction = full_mesh_correction(group, bytes);
  double best = std::numeric_limits<double>::infinity();
  for (const LatencyBandwidth& entry : row_of(kGatherRing, group.axis)) {
    const double bandwidth = entry.bandwidth_gb_per_s * scale_of(group) * correction;
    best = std::min(best, time_us(entry, bandwidth, bytes));
  }
  return best;
}

double tree_us(const Group& group, std::int64_t bytes) {
  const ProtocolRow& row = row_of(kAllReduceTree, group.axis);
  const std::size_t size = size_index(bytes);
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t protocol = 0; protocol < kNumProtocols; ++protocol) {
    double bandwidth = row[protocol].bandwidth_gb_per_s * scale_of(group);
    if (size < kNumTreeSizes) bandwidth *= kTreeCorrection[protocol][size];
    best = std::min(best, time_us(row[protocol], bandwidth, bytes));
  }
  return best;
}

double nvls_tree_us(const Group& group, std::int64_t bytes) {
  const LatencyBandwidth& entry = kAllReduceNvlsTree[row_of(group.axis, 2, kNvlsTreeMinRanks)];
  const double ramp = interpolated(kNvlsTreeRamp, bytes / group.axis.ranks);
  return time_us(entry, entry.bandwidth_gb_per_s * scale_of(group) * ramp, bytes);
}

}  // namespace

double one_node_us(const Group& group, Collective collective, std::int64_t bytes) {
  const bool all_reduce = collective == Collective::kAllReduce;
  const std::int64_t ranks = group.axis.ranks;
  const double bandwidth =
      interpolated(all_reduce ? kAllReduceBandwidths : kGatherBandwidths, ranks) * scale_of(group);
  const double latency = interpolated(all_reduce ? kAllReduceLatencies : kGatherLatencies, ranks);
  return latency + static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

std::optional<double> several_nodes_us(const Group& group, Collective collective,
                                       std::int64_t bytes) {
  if (!is_in_tables(group.axis)) return std::nullopt;
  if (collective != Collective::kAllReduce) return gather_us(group, bytes);
  // The measured table overestimates rings over many nodes, so rings use NCCL's estimate.
  const double best = std::min(tree_us(group, bytes), ring_us(group, collective, bytes));
  if (group.axis.ranks_per_node < kNvlsTreeMinRanks) return best;
  return std::min(best, nvls_tree_us(group, bytes));
}

}  // namespace shardwright::redistribution::nccl

namespace shardwright::redistribution {

namespace {

double group_us(const nccl::Group& group, Collective collective, double bytes) {
  const std::int64_t whole_bytes = static_cast<std::int64_t>(bytes);
  if (collective == Collective::kAllToAll) return nccl::all_to_all_us(group, whole_bytes);
  if (!group.has_nvls()) return nccl::tuned_us(group, collective, whole_bytes);
  if (group.axis.nodes == 1) return nccl::one_node_us(group, collective, whole_bytes);
  const std::optional<double> measured_us = nccl::several_nodes_us(group, collective, whole_bytes);
  return measured_us ? *measured_us : nccl::tuned_us(group, collective, whole_bytes);
}

Axes axes_in(std::size_t set) {
  Axes axes;
  for (std::size_t axis = 0; set >> axis != 0; ++axis) {
    if ((set >> axis & 1) != 0) axes.push_back(static_cast<std::uint8_t>(axis));
  }
  return axes;
}

}  // namespace

NcclCosts::NcclCosts(MeshShape mesh, const NcclConfig& config) : CollectiveCosts(std::move(mesh)) {
  const MeshShape& shape = this->mesh();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    groups_.push_back(nccl::Group::make(config, nccl_axis(config, shape, axis)));
  if (shape.size() > kMaxMeshAxes) return;
  for (std::size_t set = 0; set < std::size_t{1} << shape.size(); ++set)
    joint_.push_back(nccl::Group::make(config, nccl_group(config, shape, axes_in(set))));
}

Result<NcclCosts> NcclCosts::make(MeshShape mesh, const NcclConfig& config) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_nccl_config(config));
  return NcclCosts(std::move(mesh), config);
}

double NcclCosts::microseconds(Collective collective, std::size_t axis, double bytes) const {
  SHARDWRIGHT_DCHECK(axis < groups_.size());
  return group_us(groups_[axis], collective, bytes);
}

double NcclCosts::microseconds_over(Collective collective, const Axes& axes, double bytes) const {
  if (joint_.empty()) return CollectiveCosts::microseconds_over(collective, axes, bytes);
  std::size_t set = 0;
  for (const std::uint8_t axis : axes)
    set |= std::size_t{1} << axis;
  SHARDWRIGHT_DCHECK(set < joint_.size());
  return group_us(joint_[set], collective, bytes);
}

}  // namespace shardwright::redistribution

namespace shardwright::redistribution::nccl {}  // namespace shardwright::redistribution::nccl
