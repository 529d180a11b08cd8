#include "search/operators/reshard/one_step.h"

#include <bit>

#include "core/check.h"
#include "search/operators/reshard/reshard_path.h"

namespace shardwright::operators {
namespace {

// The local cost of a gather or split, so that conversions without traffic are not free. Source:
// CommSpec.get_comm_cost, ColossalAI colossalai/tensor/comm_spec.py.
constexpr double kLocalCost = 100;

}  // namespace

CollectiveAxis CollectiveAxis::along(const DeviceMesh& mesh, int axis) {
  const auto index = static_cast<std::size_t>(axis);
  SHARDWRIGHT_DCHECK(index < mesh.num_axes());
  return {mesh.size(index), mesh.alpha(index), mesh.beta(index)};
}

CollectiveAxis CollectiveAxis::flattened(const DeviceMesh& mesh) {
  return {mesh.num_devices(), mesh.flat_alpha(), mesh.flat_beta()};
}

CollectiveAxis CollectiveAxis::over(const DeviceMesh& mesh, std::uint8_t axes) {
  SHARDWRIGHT_CHECK(axes != 0);
  return std::has_single_bit(axes) ? along(mesh, std::countr_zero(axes)) : flattened(mesh);
}

double CollectiveAxis::all_gather(double volume) const {
  const double n = devices;
  return alpha + beta * (n - 1) / n * volume + 0.1;
}

double CollectiveAxis::all_reduce(double volume) const {
  const double n = devices;
  return alpha + beta * 2 * (n - 1) / n * volume + 0.01;
}

double CollectiveAxis::reduce_scatter(double volume) const {
  const double n = devices;
  return alpha + beta * (n - 1) / n * volume + 0.001;
}

double CollectiveAxis::all_to_all(double volume) const {
  const double n = devices;
  const double penalty = n / 2;
  return alpha + beta * (n - 1) / n / n * volume * penalty + 0.001;
}

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
