#include "core/embedding/problem/release_checks.h"

#include <string>

namespace shardwright::embedding {
namespace {

std::string unknown_to(TorchRecRelease release) {
  return " is not in TorchRec " + std::string(to_name(release)) + "; choose a newer release";
}

}  // namespace

Status check_known_to_release(const ProblemSpec& spec) {
  using Type = ReservationSpec::Type;
  const ReleaseRules& release = rules_of(spec.torchrec);
  const std::string unknown = unknown_to(spec.torchrec);
  if (spec.topology.compute_device == ComputeDevice::kTpu && !release.has_tpu)
    return invalid_input("/topology/compute_device", "tpu" + unknown);
  const bool absolute =
      spec.reservation.type == Type::kFixedAbsolute || spec.reservation.type == Type::kSkuAware;
  if (absolute && !release.has_absolute_reservations)
    return invalid_input("/reservation/type", "this reservation" + unknown);
  const PerfEstimatorSpec& estimator = spec.perf_estimator;
  const bool configured = estimator.config ||
                          estimator.use_batch_inputs_for_expected_cache_fetches ||
                          estimator.use_linear_regression_prefetch_estimate;
  if (configured && !release.has_hardware_configs)
    return invalid_input("/perf_estimator", "a configured estimator" + unknown);
  if (estimator.use_linear_regression_prefetch_estimate &&
      !(estimator.config && estimator.config->prefetch)) {
    return invalid_input("/perf_estimator/use_linear_regression_prefetch_estimate",
                         "needs the prefetch coefficients of a config");
  }
  return {};
}

Status check_known_to_release(const Topology& topology, TorchRecRelease release) {
  if (!topology.has_uneven_hosts() || rules_of(release).has_uneven_hosts) return {};
  return invalid_input("/topology/local_world_size",
                       "a host of " + std::to_string(topology.local_world_size()) +
                           " ranks that is not full" + unknown_to(release));
}

}  // namespace shardwright::embedding
