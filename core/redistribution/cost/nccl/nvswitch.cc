// Source: AutoParallel, autoparallel/cost_models/nccl_cost_model.py, nccl_collective_time and
// _table_collective_time, in their order of operations.
#include "core/redistribution/cost/nccl/nvswitch.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/redistribution/cost/nccl/nvswitch_tables.h"
#include "core/redistribution/cost/nccl/tuning/size_tables.h"

namespace shardwright::redistribution::nccl {
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

// The row of a table that has `ranks_rows` rows per number of nodes, from `min_ranks` per node on.
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

// Unlike other corrections it ends with the table: larger messages have the whole bandwidth.
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
  // The table of rings overestimates what many nodes reach, so the ring is NCCL's own estimate.
  const double best = std::min(tree_us(group, bytes), ring_us(group, collective, bytes));
  if (group.axis.ranks_per_node < kNvlsTreeMinRanks) return best;
  return std::min(best, nvls_tree_us(group, bytes));
}

}  // namespace shardwright::redistribution::nccl
