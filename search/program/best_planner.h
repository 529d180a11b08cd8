// The fastest plan for moving a tensor between two placements. Times are in microseconds.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"
#include "core/status.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/step_costs.h"

namespace shardwright::program {

// The machines of the ranks and their speed. Rank r is on machine r / ranks_per_machine. Names with
// `us` are in microseconds. Source of the latencies: Paddle's static cost model (ring and tree
// collectives, NVLink). Thread safety: a value.
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

// What the cost of a collective depends on in a group of ranks.
struct GroupShape {
  std::int64_t ranks = 1;
  std::int64_t machines = 1;
};
GroupShape group_shape(const Cluster& cluster, const std::vector<Rank>& group);

// `bytes`: of one member's tensor, after an all-gather but before other collectives.
double all_gather_us(const Cluster& cluster, GroupShape group, double bytes);
double all_reduce_us(const Cluster& cluster, GroupShape group, double bytes);
// The time of a reduce-scatter or all-to-all. Each of n members has a tensor of `bytes`, keeps one
// n-th of it and sends the rest.
double exchange_us(const Cluster& cluster, GroupShape group, double bytes);
double send_us(const Cluster& cluster, bool same_machine, double bytes);
// The time of copying `bytes` within a rank.
double local_us(const Cluster& cluster, double bytes);

// Bytes per element in a message. A boolean is sent as a 64-bit integer.
std::int64_t message_bytes(DataType type);

// Returns the time of the slowest rank. A rank runs its steps in sequence. O(steps * group size).
double plan_us(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
               const ReshardPlan& plan);

// The times of moves of one tensor along mesh axes, if all pieces have equal size.
// Thread safety: const members may be called from any thread.
class MeshCosts final : public redistribution::StepCosts {
 public:
  // The cluster must outlive this.
  MeshCosts(const Cluster& cluster, const ProcessMesh& mesh, const Shape& shape, DataType type);

  // Returns microseconds for the slowest rank; 0 along an axis of size 1.
  double cost(const redistribution::PricedMove& step) const override;
  bool is_monotone() const override { return true; }

  const redistribution::TensorOnMesh& tensor() const { return tensor_; }

 private:
  const Cluster* cluster_;
  redistribution::TensorOnMesh tensor_;
  double element_bytes_;
  std::vector<GroupShape> groups_;  // by axis: its slowest group
};

// Returns the cheapest moves between two placements on one mesh. Path::found is false if no
// collectives on pieces of equal size lead to the target.
redistribution::Path cheapest_moves(const MeshCosts& costs, const redistribution::Placement& source,
                                    const redistribution::Placement& target);
// Returns the cheapest moves to any placement without partial axes.
redistribution::Path cheapest_reduction(const MeshCosts& costs,
                                        const redistribution::Placement& source);

// Returns true if every partial axis of the source has a partial axis of the target with the same
// reduction and size. Messages can then move the terms of the reduction unchanged.
bool can_move(const DistAttr& source, const DistAttr& target);

// Returns the number of boxes that the ranks of `target` take. O(axes of both * ranks per axis).
std::int64_t num_moves(const Shape& shape, const DistAttr& source, const DistAttr& target);

// Appends the messages from `source` to `target` to `plan`. Returns false if a stop was requested;
// the steps are then incomplete. A rank of `target` takes a box from its own tensor if it holds the
// box. Otherwise it takes the box from the owner that would be the first to finish its messages
// including this one. If the target is a sum along an axis and the source is not, the rank at
// coordinate 0 gets the values, others get zeros. All ranks process messages in the same order, so
// blocking sends cannot deadlock. Precondition: can_move(source, target). O(messages * owners).
bool append_moves(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan, const std::stop_token& stop = {});

// Thread safety: a value.
struct BestPlan {
  ReshardPlan plan;
  double us = 0;  // time of the slowest rank
  // Set if the plan consists of collectives on one mesh.
  std::optional<redistribution::Path> path;
};

// Limit of the messages of a plan. A message is a step of two ranks; both steps take about 1.4 kB.
inline constexpr std::int64_t kMaxMoves = std::int64_t{1} << 20;

// Returns the cheapest of these plans: collectives along mesh axes (find_path()); messages from
// ranks that hold a part to ranks that want it; reductions, then messages, then collectives on the
// target mesh; and Paddle's plan where it is correct. Supports every pair of placements that
// check() accepts, including uneven pieces and overlapping meshes. Deterministic. Errors:
// kUnsupported if only messages are possible and their number exceeds kMaxMoves; kStopped.
Result<BestPlan> plan_best(const Cluster& cluster, const Shape& shape, DataType type,
                           const DistAttr& source, const DistAttr& target,
                           const std::stop_token& stop = {});

}  // namespace shardwright::program
