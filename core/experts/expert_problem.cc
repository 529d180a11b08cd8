#include "core/experts/expert_problem.h"

#include <cmath>
#include <string>
#include <utility>

namespace shardwright::experts {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 26;
// Quotients of amounts stay finite.
constexpr const char* kAmount = "must be 0, or between 1e-30 and 1e30";
bool is_amount(double value) { return value == 0 || (value >= 1e-30 && value <= 1e30); }

std::string number(std::size_t value) { return std::to_string(value); }

Status check_links(ExpertSpec& spec) {
  const std::size_t gpus = spec.num_gpus;
  const std::size_t nodes = spec.num_nodes;
  std::vector<double>& costs = spec.link_costs;
  if (costs.size() == nodes * nodes && nodes != gpus) {
    const std::vector<double> of_nodes = std::move(costs);
    costs.clear();
    for (std::size_t i = 0; i < gpus * gpus; ++i)
      costs.push_back(of_nodes[i / gpus * nodes / gpus * nodes + i % gpus * nodes / gpus]);
  }
  if (!costs.empty() && costs.size() != gpus * gpus) {
    return invalid_input("/link_costs", "must have a row and a column for each of the " +
                                            number(gpus) + " GPUs or " + number(nodes) + " nodes");
  }
  for (const double cost : costs) {
    if (!is_amount(cost)) return invalid_input("/link_costs", kAmount);
  }
  if (!spec.origins.empty() && spec.origins.size() != gpus)
    return invalid_input("/origins", "must have one number per GPU");
  double all = 0;
  for (const double origin : spec.origins) {
    if (!is_amount(origin)) return invalid_input("/origins", kAmount);
    all += origin;
  }
  if (!spec.origins.empty() && all <= 0) return invalid_input("/origins", "must not all be 0");
  return {};
}

Status check_machine(const ExpertSpec& spec) {
  if (spec.num_gpus == 0) return invalid_input("/num_gpus", "must be at least 1");
  if (spec.num_nodes == 0 || spec.num_gpus % spec.num_nodes != 0) {
    return invalid_input("/num_nodes", "must divide the " + number(spec.num_gpus) + " GPUs");
  }
  if (spec.num_slots < spec.num_experts || spec.num_slots % spec.num_gpus != 0) {
    const std::size_t least =
        (spec.num_experts + spec.num_gpus - 1) / spec.num_gpus * spec.num_gpus;
    return invalid_input("/num_slots", "must be a multiple of the " + number(spec.num_gpus) +
                                           " GPUs and at least " + number(least) + ", for " +
                                           number(spec.num_experts) + " experts");
  }
  if (spec.num_slots > kMostNumbers / spec.num_layers)
    return invalid_input("/num_slots", "all layers together may have 2^26 slots");
  if (spec.num_gpus > kMostNumbers / spec.num_experts)
    return invalid_input("/num_gpus", "experts times GPUs may be 2^26");
  if (spec.num_groups == 0 || spec.num_experts % spec.num_groups != 0) {
    return invalid_input("/num_groups", "must divide the " + number(spec.num_experts) + " experts");
  }
  if (!spec.gpu_speeds.empty() && spec.gpu_speeds.size() != spec.num_gpus)
    return invalid_input("/gpu_speeds", "must have one number per GPU");
  for (std::size_t i = 0; i < spec.gpu_speeds.size(); ++i) {
    const double speed = spec.gpu_speeds[i];
    if (!(speed >= 1e-9 && speed <= 1e9))
      return invalid_input("/gpu_speeds/" + number(i), "must be between 1e-9 and 1e9");
  }
  return {};
}

Status check_loads(const ExpertSpec& spec) {
  const std::size_t lists = spec.num_samples * spec.num_layers;
  if (spec.num_samples == 0 || spec.num_layers == 0 || spec.num_experts == 0)
    return invalid_input("/loads", "must have at least one window, layer and expert");
  if (spec.num_samples > kMostNumbers || spec.num_layers > kMostNumbers ||
      lists > kMostNumbers / spec.num_experts)
    return invalid_input("/loads", "may have 2^26 numbers");
  if (spec.loads.size() != lists * spec.num_experts)
    return invalid_input("/loads", "must have a number per window, layer and expert");
  for (std::size_t i = 0; i < spec.loads.size(); ++i) {
    const double load = spec.loads[i];
    if (is_amount(load)) continue;
    const std::size_t list = i / spec.num_experts;
    std::string where = "/loads/";
    if (spec.num_samples > 1) where += number(list / spec.num_layers) + "/";
    return invalid_input(
        where + number(list % spec.num_layers) + "/" + number(i % spec.num_experts), kAmount);
  }
  return {};
}

}  // namespace

Result<ExpertProblem> ExpertProblem::make(ExpertSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_loads(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_machine(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_links(spec));
  return ExpertProblem(std::move(spec));
}

ExpertProblem ExpertProblem::mean_window() const {
  if (num_samples() == 1) return *this;
  ExpertSpec spec = *spec_;
  const std::size_t numbers = num_layers() * num_experts();
  spec.num_samples = 1;
  spec.loads.assign(numbers, 0);
  for (std::size_t i = 0; i < spec_->loads.size(); ++i)
    spec.loads[i % numbers] += spec_->loads[i];
  for (double& load : spec.loads)
    load /= static_cast<double>(num_samples());
  return ExpertProblem(std::move(spec));
}

}  // namespace shardwright::experts
