#include "runtime/redistribution/plan_redistribution.h"

#include <string>
#include <utility>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/placement/placement_notation.h"
#include "runtime/redistribution/placement_code.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/step_costs.h"

namespace shardwright {
namespace {

using namespace redistribution;

// Bytes and elements of a tensor stay below 2^62, so that the sum of two does not overflow.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
constexpr double kBytesPerMicrosecond = 1e3;  // at 1 GB/s

Status check_shape(const RedistributionCase& request) {
  if (request.itemsize < 1) return invalid_input("/itemsize", "must be at least 1 byte");
  std::int64_t bytes = request.itemsize;
  for (std::size_t dim = 0; dim < request.shape.size(); ++dim) {
    const std::int64_t size = request.shape[dim];
    const std::string where = "/shape/" + std::to_string(dim);
    if (size < 0) {
      return invalid_input(
          where, "an extent cannot be " + std::to_string(size) + "; write the number of elements");
    }
    if (size > 1 && bytes >= kMostBytes / size) {
      return invalid_input(where, "the tensor would have 2^62 bytes or more");
    }
    if (size > 0) bytes *= size;
  }
  return {};
}

Status check_placement(const RedistributionCase& request, const Placement& placement,
                       const std::string& name) {
  const auto read =
      read_placement_code(placement.code(), request.mesh.size(), request.shape.size());
  if (read.ok()) return {};
  return invalid_input(name + read.error().where, read.error().message);
}

Status check_request(const RedistributionCase& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(request.mesh));
  if (request.mesh.size() > kMaxMeshAxes) {
    return invalid_input("/mesh", "a mesh has at most " + std::to_string(kMaxMeshAxes) + " axes");
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_shape(request));
  SHARDWRIGHT_RETURN_IF_ERROR(check_placement(request, request.source, "/source"));
  return check_placement(request, request.target, "/target");
}

// Calls plan(const StepCosts&) with the cost model of the request.
template <class Plan>
Result<std::vector<Path>> with_costs(const RedistributionCase& request, const DTensorModel& model,
                                     const Plan& plan) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const DTensorCosts costs,
                               DTensorCosts::make(request.mesh, model.devices_per_host));
  return plan(DTensorStepCosts(costs, num_elements(request.shape) * request.itemsize));
}
template <class Plan>
Result<std::vector<Path>> with_costs(const RedistributionCase& request, const RingModel& model,
                                     const Plan& plan) {
  if (!(model.copy_gb_per_s > 0)) return invalid_input("/copy_gb_per_s", "must be positive");
  SHARDWRIGHT_ASSIGN_OR_RETURN(const TopologyCosts costs,
                               TopologyCosts::make(request.mesh, model.links));
  CollectiveStepCosts::Options options;
  options.itemsize = request.itemsize;
  options.copy_bytes_per_us = model.copy_gb_per_s * kBytesPerMicrosecond;
  options.groups = model.groups;
  return plan(CollectiveStepCosts(costs, options));
}

Error no_path(const RedistributionCase& request, const RedistributionOptions& options) {
  if (options.stop.stop_requested()) {
    return Error{ErrorCode::kStopped, "the redistribution was cancelled", ""};
  }
  const std::size_t axes = request.mesh.size();
  return Error{ErrorCode::kInfeasible,
               std::string("no moves ") +
                   (options.memory_bytes || options.collectives ? "within the limits " : "") +
                   "lead from " + to_text(request.source, axes) + " to " +
                   to_text(request.target, axes),
               ""};
}

// Returns the paths of find(tensor, costs, limits). Errors: as plan_redistribution().
template <class Find>
Result<std::vector<PlannedRedistribution>> plan_paths(const RedistributionCase& request,
                                                      const RedistributionOptions& options,
                                                      const Find& find) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(request));
  PathLimits limits;
  if (options.memory_bytes) {
    if (*options.memory_bytes < 0) return invalid_input("/memory_bytes", "must not be negative");
    limits.elements = *options.memory_bytes / request.itemsize;
  }
  limits.collectives = options.collectives;
  const TensorOnMesh tensor{request.mesh, request.shape};
  const auto plan = [&](const StepCosts& costs) -> Result<std::vector<Path>> {
    return find(tensor, costs, limits);
  };
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      std::vector<Path> paths,
      std::visit([&](const auto& model) { return with_costs(request, model, plan); },
                 options.model));
  if (paths.empty() || !paths.front().found) return no_path(request, options);
  std::vector<PlannedRedistribution> planned;
  for (Path& path : paths) {
    const std::int64_t peak_bytes = path.peak_elements * request.itemsize;
    planned.push_back({std::move(path), peak_bytes});
  }
  return planned;
}

}  // namespace

Result<PlannedRedistribution> plan_redistribution(const RedistributionCase& request,
                                                  const RedistributionOptions& options) {
  const auto find = [&](const TensorOnMesh& tensor, const StepCosts& costs,
                        const PathLimits& limits) -> std::vector<Path> {
    return {find_path(tensor, costs, MoveRules(), request.source, request.target, limits,
                      options.stop)};
  };
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<PlannedRedistribution> paths,
                               plan_paths(request, options, find));
  return std::move(paths.front());
}

Result<std::vector<PlannedRedistribution>> plan_redistribution_front(
    const RedistributionCase& request, const RedistributionOptions& options) {
  const auto find = [&](const TensorOnMesh& tensor, const StepCosts& costs,
                        const PathLimits& limits) {
    std::vector<Path> paths = pareto_paths(tensor, costs, MoveRules(), request.source,
                                           request.target, limits, options.stop);
    if (options.stop.stop_requested()) paths.clear();  // after a stop, the front may be incomplete
    return paths;
  };
  return plan_paths(request, options, find);
}

}  // namespace shardwright
