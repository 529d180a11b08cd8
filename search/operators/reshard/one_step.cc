#include "search/operators/reshard/one_step.h"

#include "core/check.h"
#include "search/operators/reshard/reshard_path.h"

namespace shardwright::operators {
namespace {

// The local cost of a gather or split, so that conversions without traffic are not free. Source:
// CommSpec.get_comm_cost, ColossalAI colossalai/tensor/comm_spec.py.
constexpr double kLocalCost = 100;

}  // namespace

PhaseCost move_cost(const DeviceMesh& mesh, const ReshardMove& move, std::int64_t local_elements) {
  const CollectiveAxis along = CollectiveAxis::along(mesh, move.axis);
  const double volume = static_cast<double>(local_elements);
  PhaseCost cost;
  switch (move.pattern) {
    case ReshardPattern::kAllGather:
      cost.forward = along.all_gather(volume);
      cost.backward = kLocalCost;
      break;
    case ReshardPattern::kAllToAll:
      cost.forward = along.all_to_all(volume);
      cost.backward = cost.forward;
      break;
    case ReshardPattern::kShard:
      cost.forward = kLocalCost;
      cost.backward = along.all_gather(volume);
      break;
  }
  cost.total = cost.forward + cost.backward;
  return cost;
}

std::int64_t elements_after(const DeviceMesh& mesh, const ReshardMove& move,
                            std::int64_t local_elements) {
  const std::int64_t devices = mesh.size(move.axis);
  switch (move.pattern) {
    case ReshardPattern::kAllGather:
      return local_elements * devices;
    case ReshardPattern::kShard:
      return local_elements / devices;
    case ReshardPattern::kAllToAll:
      break;
  }
  return local_elements;
}

std::vector<ReshardStep> one_step_reshards(const SpecTable& table, const TensorShape& shape,
                                           const DimSpecs& from) {
  SHARDWRIGHT_CHECK(table.valid(shape, from));
  const DeviceMesh& mesh = table.mesh();
  const std::int64_t local_elements = table.local_elements(shape, from);
  std::vector<ReshardStep> steps;
  for_each_move(mesh, shape, from, [&](const ReshardMove& move) {
    steps.push_back({move, move_cost(mesh, move, local_elements)});
  });
  return steps;
}

}  // namespace shardwright::operators
