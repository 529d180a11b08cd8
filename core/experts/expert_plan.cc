#include "core/experts/expert_plan.h"

#include <algorithm>
#include <string>

namespace shardwright::experts {
namespace {

std::string place(std::size_t layer, std::size_t slot) {
  return "/physical_to_logical/" + std::to_string(layer) + "/" + std::to_string(slot);
}

std::size_t index(Expert expert) { return static_cast<std::size_t>(expert); }

}  // namespace

std::vector<std::int32_t> replica_counts(const ExpertProblem& problem, const Expert* slots) {
  std::vector<std::int32_t> counts(problem.num_experts(), 0);
  for (std::size_t i = 0; i < problem.num_slots(); ++i)
    ++counts[index(slots[i])];
  return counts;
}

std::vector<double> gpu_times(const ExpertProblem& problem, std::size_t sample, std::size_t layer,
                              const Expert* slots) {
  const std::vector<std::int32_t> counts = replica_counts(problem, slots);
  const double* loads = problem.loads(sample, layer);
  std::vector<double> times(problem.num_gpus(), 0);
  const std::size_t per_gpu = problem.slots_per_gpu();
  for (std::size_t i = 0; i < problem.num_slots(); ++i)
    times[i / per_gpu] += loads[slots[i]] / counts[index(slots[i])];
  for (std::size_t gpu = 0; gpu < times.size(); ++gpu)
    times[gpu] /= problem.speed(gpu);
  return times;
}

std::vector<double> busiest_times(const ExpertProblem& problem, const Placement& placement) {
  std::vector<double> busiest;
  for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
      const std::vector<double> times =
          gpu_times(problem, sample, layer, placement.data() + layer * problem.num_slots());
      busiest.push_back(*std::max_element(times.begin(), times.end()));
    }
  }
  return busiest;
}

std::size_t worst_window(const ExpertProblem& problem, const std::vector<double>& busiest) {
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
    double sum = 0;
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer)
      sum += busiest[sample * problem.num_layers() + layer];
    if (sum > most) most = sum, worst = sample;
  }
  return worst;
}

std::vector<double> over_windows(const ExpertProblem& problem, const std::vector<double>& by_window,
                                 Over over, std::size_t worst) {
  std::vector<double> layers(problem.num_layers(), 0);
  const auto samples = static_cast<double>(problem.num_samples());
  for (std::size_t i = 0; i < by_window.size(); ++i) {
    const std::size_t layer = i % layers.size();
    if (over == Over::kMean) layers[layer] += by_window[i] / samples;
    if (over == Over::kWorst && i / layers.size() == worst) layers[layer] = by_window[i];
  }
  return layers;
}

std::vector<double> mean_times(const ExpertProblem& problem) {
  double speed = 0;
  for (std::size_t gpu = 0; gpu < problem.num_gpus(); ++gpu)
    speed += problem.speed(gpu);
  std::vector<double> means;
  for (std::size_t sample = 0; sample < problem.num_samples(); ++sample) {
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
      const double* loads = problem.loads(sample, layer);
      double sum = 0;
      for (std::size_t expert = 0; expert < problem.num_experts(); ++expert)
        sum += loads[expert];
      means.push_back(sum / speed);
    }
  }
  return means;
}

std::size_t count_layer_moves(const ExpertProblem& problem, const Expert* slots,
                              const Expert* old) {
  const std::size_t per_gpu = problem.slots_per_gpu();
  std::size_t moves = 0;
  for (std::size_t i = 0; i < problem.num_slots(); ++i) {
    const Expert* first = old + i / per_gpu * per_gpu;
    moves += std::find(first, first + per_gpu, slots[i]) == first + per_gpu ? 1U : 0U;
  }
  return moves;
}

std::size_t count_moves(const ExpertProblem& problem, const Placement& placement,
                        const Placement& old) {
  std::size_t moves = 0;
  for (std::size_t first = 0; first < placement.size(); first += problem.num_slots())
    moves += count_layer_moves(problem, placement.data() + first, old.data() + first);
  return moves;
}

Status check_slots(const ExpertProblem& problem, const Placement& placement, ErrorCode code) {
  if (placement.size() != problem.num_layers() * problem.num_slots()) {
    return Error{code,
                 "must have a row of " + std::to_string(problem.num_slots()) +
                     " slots for each of " + std::to_string(problem.num_layers()) + " layers",
                 "/physical_to_logical"};
  }
  const auto experts = static_cast<Expert>(problem.num_experts());
  for (std::size_t i = 0; i < placement.size(); ++i) {
    if (placement[i] < 0 || placement[i] >= experts) {
      return Error{code, "must be the number of an expert, below " + std::to_string(experts),
                   place(i / problem.num_slots(), i % problem.num_slots())};
    }
  }
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    const auto counts = replica_counts(problem, placement.data() + layer * problem.num_slots());
    const auto absent = std::find(counts.begin(), counts.end(), 0);
    if (absent != counts.end()) {
      return Error{code, "expert " + std::to_string(absent - counts.begin()) + " has no slot",
                   "/physical_to_logical/" + std::to_string(layer)};
    }
  }
  return {};
}

bool has_repeats(const ExpertProblem& problem, const Expert* slots) {
  std::vector<std::size_t> gpu_of(problem.num_experts(), problem.num_gpus());
  for (std::size_t slot = 0; slot < problem.num_slots(); ++slot) {
    std::size_t& gpu = gpu_of[index(slots[slot])];
    if (gpu == slot / problem.slots_per_gpu()) return true;
    gpu = slot / problem.slots_per_gpu();
  }
  return false;
}

Status check_layer(const ExpertProblem& problem, std::size_t layer, const Expert* slots) {
  const std::size_t per_gpu = problem.slots_per_gpu();
  const std::size_t per_node = problem.num_slots() / problem.num_nodes();
  const std::size_t group_size = problem.num_experts() / problem.num_groups();
  std::vector<std::size_t> gpu_of(problem.num_experts(), problem.num_gpus());
  std::vector<std::size_t> node_of(problem.num_groups(), problem.num_nodes());
  for (std::size_t slot = 0; slot < problem.num_slots(); ++slot) {
    const std::size_t expert = index(slots[slot]);
    if (problem.forbids_repeats() && gpu_of[expert] == slot / per_gpu) {
      return Error{ErrorCode::kVerificationFailed,
                   "GPU " + std::to_string(slot / per_gpu) + " has two replicas of expert " +
                       std::to_string(expert),
                   place(layer, slot)};
    }
    gpu_of[expert] = slot / per_gpu;
    std::size_t& node = node_of[expert / group_size];
    if (problem.keeps_groups() && node != problem.num_nodes() && node != slot / per_node) {
      return Error{ErrorCode::kVerificationFailed,
                   "group " + std::to_string(expert / group_size) + " is on two nodes",
                   place(layer, slot)};
    }
    node = slot / per_node;
  }
  for (std::size_t node = 0; problem.keeps_groups() && node < problem.num_nodes(); ++node) {
    const auto groups = std::count(node_of.begin(), node_of.end(), node);
    if (static_cast<std::size_t>(groups) * problem.num_nodes() == problem.num_groups()) continue;
    return Error{ErrorCode::kVerificationFailed,
                 "node " + std::to_string(node) + " has " + std::to_string(groups) + " groups of " +
                     std::to_string(problem.num_groups()),
                 "/physical_to_logical/" + std::to_string(layer)};
  }
  return {};
}

}  // namespace shardwright::experts
