#include "core/redistribution/cost/nccl/all_to_all.h"

#include "core/redistribution/cost/nccl/nvswitch_tables.h"
#include "core/redistribution/cost/nccl/tuning/size_tables.h"

namespace shardwright::redistribution::nccl {
namespace {

double copy_engine_us(const Group& group, std::int64_t bytes) {
  const double bandwidth = kCopyEngineBandwidth[index_of(group.config.architecture)];
  return kCopyEngineLatencyUs + static_cast<double>(bytes) / (kBytesPerUs * bandwidth);
}

// Smaller messages do not saturate the network. More nodes send more of them at a time, which makes
// up for it.
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

}  // namespace shardwright::redistribution::nccl
