// Time to move a tensor, in microseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"
#include "search/redistribution/cost/step_costs.h"
#include "search/redistribution/path/cheapest_path.h"

namespace shardwright::program {

// The machines that ranks run on, and their speed. Rank r is on machine r / ranks_per_machine.
// Source of the latencies: Paddle's static cost model (ring and tree collectives, NVLink).
// Thread safety: a value.
struct Cluster {
  std::int64_t ranks_per_machine = 8;
  double intra_us_per_byte = 1.0 / 235e3;
  double inter_us_per_byte = 1.0 / 24.4e3;
  double base_ring_us = 8.4;
  double intra_ring_us = 3.4;
  double inter_ring_us = 9.6;
  double tree_us = 28;
  double switch_us = 10;
  double switch_hops = 1;
  double local_bytes_per_us = 144000;

  std::int64_t machine_of(Rank rank) const { return rank / ranks_per_machine; }
};

// The properties of a group of ranks that costs depend on.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t machines = 1;
};
GroupShape group_shape(const Cluster& cluster, const std::vector<Rank>& group);

// `bytes` is what one member holds, after an all-gather and before the other collectives.
double all_gather_us(const Cluster& cluster, GroupShape group, double bytes);
double all_reduce_us(const Cluster& cluster, GroupShape group, double bytes);
// A reduce-scatter or all-to-all: each of n members keeps one n-th of what it holds and moves the
// rest.
double exchange_us(const Cluster& cluster, GroupShape group, double bytes);
double send_us(const Cluster& cluster, bool same_machine, double bytes);
// Copying `bytes` within a rank.
double local_us(const Cluster& cluster, double bytes);

// Bytes per element in a message. Booleans are sent as 64-bit integers.
std::int64_t message_bytes(DataType type);

// The time of the slowest rank. A rank runs its steps one after the other. O(steps * group size).
double plan_us(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
               const ReshardPlan& plan);

// Times of moves along mesh axes, for one tensor on pieces of equal size.
// Thread safety: const members may be called from any thread.
class MeshCosts final : public redistribution::StepCosts {
 public:
  // The cluster must outlive this.
  MeshCosts(const Cluster& cluster, const ProcessMesh& mesh, const Shape& shape, DataType type);

  // Microseconds for the slowest rank; 0 along an axis of size 1.
  double cost(const redistribution::PricedMove& step) const override;
  bool is_monotone() const override { return true; }

  const redistribution::TensorOnMesh& tensor() const { return tensor_; }

 private:
  const Cluster* cluster_;
  redistribution::TensorOnMesh tensor_;
  double element_bytes_;
  std::vector<GroupShape> groups_;  // by axis, the slowest group
};

// The cheapest moves between two placements on one mesh. Not found if collectives, which need pieces
// of equal size, do not lead there.
redistribution::Path cheapest_moves(const MeshCosts& costs, const redistribution::Placement& source,
                                    const redistribution::Placement& target);
// The cheapest moves to any placement without reductions due.
redistribution::Path cheapest_reduction(const MeshCosts& costs,
                                        const redistribution::Placement& source);

}  // namespace shardwright::program
