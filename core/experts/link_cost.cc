#include "core/experts/link_cost.h"

#include <algorithm>
#include <numeric>

namespace shardwright::experts {

LinkTable::LinkTable(const ExpertProblem& problem)
    : gpus_(problem.num_gpus()), origins_(problem.spec().origins) {
  if (origins_.empty()) origins_.assign(gpus_, 1);
  const double all = std::accumulate(origins_.begin(), origins_.end(), 0.0);
  for (double& origin : origins_)
    origin /= all;
  const std::vector<double>& costs = problem.spec().link_costs;
  for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
    double single = 0;
    for (Gpu origin = 0; origin < gpus_; ++origin) {
      links_.push_back({costs[origin * gpus_ + gpu], origin});
      single += origins_[origin] * links_.back().cost;
    }
    single_.push_back(single);
    std::stable_sort(links_.end() - static_cast<std::ptrdiff_t>(gpus_), links_.end(),
                     [](const Link& a, const Link& b) { return a.cost < b.cost; });
  }
}

double LinkTable::token_cost(const std::vector<Gpu>& replicas, Scratch& scratch) const {
  if (replicas.size() == 1) return single_[replicas[0]];
  scratch.left = origins_;
  scratch.room.assign(replicas.size(), 1.0 / static_cast<double>(replicas.size()));
  scratch.next.assign(replicas.size(), 0);
  double cost = 0;
  for (;;) {
    // The cheapest link from an origin with tokens to a replica with room.
    const Link* cheapest = nullptr;
    std::size_t replica = 0;
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      std::size_t& next = scratch.next[i];
      const Link* links = links_.data() + replicas[i] * gpus_;
      while (next < gpus_ && scratch.left[links[next].origin] <= 0)
        ++next;
      if (scratch.room[i] <= 0 || next == gpus_) continue;
      if (cheapest == nullptr || links[next].cost < cheapest->cost)
        cheapest = links + next, replica = i;
    }
    if (cheapest == nullptr) return cost;
    double& left = scratch.left[cheapest->origin];
    const double tokens = std::min(left, scratch.room[replica]);
    cost += tokens * cheapest->cost;
    left -= tokens;
    scratch.room[replica] -= tokens;
  }
}

std::vector<std::vector<LinkTable::Gpu>> gpus_of_experts(const ExpertProblem& problem,
                                                         const Expert* slots) {
  std::vector<std::vector<LinkTable::Gpu>> gpus(problem.num_experts());
  for (std::size_t slot = 0; slot < problem.num_slots(); ++slot)
    gpus[static_cast<std::size_t>(slots[slot])].push_back(
        static_cast<LinkTable::Gpu>(slot / problem.slots_per_gpu()));
  return gpus;
}

double link_cost(const ExpertProblem& problem, const Placement& placement) {
  if (problem.spec().link_costs.empty()) return 0;
  const LinkTable links(problem);
  const ExpertProblem mean = problem.mean_window();
  LinkTable::Scratch scratch;
  double cost = 0;
  for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
    const auto gpus = gpus_of_experts(problem, placement.data() + layer * problem.num_slots());
    for (std::size_t expert = 0; expert < gpus.size(); ++expert)
      cost += mean.loads(0, layer)[expert] * links.token_cost(gpus[expert], scratch);
  }
  return cost;
}

}  // namespace shardwright::experts
