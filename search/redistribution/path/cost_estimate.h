// A lower bound of what is left to pay from a placement to the target.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "search/redistribution/cost/step_costs.h"
#include "search/redistribution/path/visit_moves.h"

namespace shardwright::redistribution {

// For costs that do not fall as devices hold more:
// (1) Only gathers turn shards into replicas. The last one leaves at least what the target holds, the
//     one before at least that divided by the largest axis, and so on.
// (2) An axis that shards another dimension than in the target, or is partial and the target is not,
//     needs a collective of its own. Devices then hold little only if all other axes are sharded;
//     one that is replicated here and in the target must be gathered again for that.
// With collectives over groups of axes and axes that change places, one collective may serve all
// axes, and only the numbers of shards and of partial axes say that a gather or a reduction is left.
// Thread safety: const members may be called from any thread.
class CostEstimate {
 public:
  // Precondition: costs.is_monotone(). O(axes^2), with groups O(2^axes).
  CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& target,
               bool groups);

  // O(axes^2), allocates nothing.
  double left(const Placement& at) const;

 private:
  using ByAxis = std::array<double, kMaxMeshAxes>;

  void fill_gathers(const StepCosts& costs);
  void fill_others(const StepCosts& costs);
  void fill_joint(const StepCosts& costs);
  double left_in_groups(const Placement& at) const;

  const TensorOnMesh& tensor_;
  Placement target_;
  bool groups_;
  std::size_t num_shards_ = 0;  // axes of the target
  std::size_t num_partial_ = 0;
  std::array<double, kMaxMeshAxes + 1> gathers_{};  // by number of gathers: their sum
  // By number of axes that stay replicated, and by axis: any collective along it.
  std::array<ByAxis, kMaxMeshAxes + 1> others_{};
  double joint_reduction_ = 0;
};

}  // namespace shardwright::redistribution
