// Requests and cost models for tests of plans.
#pragma once

#include <memory>
#include <utility>

#include "core/redistribution/cost/collective_costs.h"
#include "search/operators/aten/solve_plan.h"
#include "search/operators/aten/transition_model.h"

namespace shardwright::test_support {

inline operators::AtenRequest aten_request(redistribution::MeshShape mesh) {
  operators::AtenRequest request;
  request.mesh = std::move(mesh);
  request.device = *operators::find_compute_device("H100");
  return request;
}

inline operators::TransitionModel flat_transitions(
    const operators::AtenRequest& request,
    operators::RedistributionChoice choice = operators::RedistributionChoice::kShortest) {
  operators::TransitionModelOptions options;
  options.choice = choice;
  options.memory_bytes_per_second = request.device.memory_bytes_per_second;
  options.collectives = std::make_shared<const redistribution::FlatCosts>(
      redistribution::FlatCosts::make(request.mesh, 8).value());
  return operators::TransitionModel(std::move(options));
}

}  // namespace shardwright::test_support
