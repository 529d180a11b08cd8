#include "search/operators/reshard/alpha_beta.h"

#include <bit>

#include "core/check.h"

namespace shardwright::operators {

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

}  // namespace shardwright::operators
