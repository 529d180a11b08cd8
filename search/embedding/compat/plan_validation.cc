#include "search/embedding/compat/plan_validation.h"

#include <algorithm>
#include <string>
#include <vector>

namespace shardwright::embedding {
namespace {

std::optional<PlanFailure> missing_module(const Problem& problem, const Plan& plan) {
  std::vector<bool> planned(problem.modules().size(), false);
  for (std::size_t i = 0; i < plan.size(); ++i)
    planned[problem.module_of(plan[i].option->table)] = true;
  const auto missing = std::find(planned.begin(), planned.end(), false);
  if (missing == planned.end()) return std::nullopt;
  const auto module = static_cast<std::size_t>(missing - planned.begin());
  return PlanFailure{
      FailureType::kMissingModuleInPlan, FailureReason::kMissingModule,
      "A plan was found, and TorchRec " + std::string(to_name(problem.spec().torchrec)) +
          " refuses it: it leaves out module \"" + problem.modules()[module].name +
          "\", all of whose tables are in another device_group. Plan such modules apart."};
}

bool has_cache(ComputeKernel kernel) {
  return kernel == ComputeKernel::kFusedUvmCaching || kernel == ComputeKernel::kQuantUvmCaching;
}

std::optional<PlanFailure> invalid_kernel(const Problem& problem, const Plan& plan) {
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ShardingOption& option = *plan[i].option;
    if (!has_cache(option.compute_kernel) || !option.load_factor) continue;
    if (*option.load_factor > 0 && *option.load_factor < 1) continue;
    return PlanFailure{
        FailureType::kInvalidComputeKernel, FailureReason::kInvalidComputeKernel,
        "A plan was found, and TorchRec " + std::string(to_name(problem.spec().torchrec)) +
            " refuses it: table \"" + problem.table(option.table).name + "\" has kernel " +
            std::string(to_name(option.compute_kernel)) +
            ", whose cache_params.load_factor must be above 0 and below 1. Change it, or leave the "
            "kernel out of its constraints."};
  }
  return std::nullopt;
}

}  // namespace

std::optional<PlanFailure> validate_plan(const Problem& problem, const Plan& plan) {
  if (!problem.release().validates_plans) return std::nullopt;
  if (auto failure = missing_module(problem, plan)) return failure;
  return invalid_kernel(problem, plan);
}

}  // namespace shardwright::embedding
