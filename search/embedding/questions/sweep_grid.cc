#include "search/embedding/questions/sweep_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace shardwright::embedding {

std::optional<Evaluation> evaluate_if_better(const Problem& problem, const Topology& available,
                                             const Plan& plan, std::optional<double> rating) {
  Evaluation evaluation = evaluate(problem, available, plan);
  if (!evaluation.valid() || (rating && *rating <= evaluation.rating)) return std::nullopt;
  return evaluation;
}

void MemoryChain::add(const std::optional<Plan>& plan, std::optional<double> rating,
                      std::optional<double> lower_bound) {
  if (plan) start_ = std::make_shared<const Plan>(*plan);
  answers_.push_back({rating, lower_bound});
}

std::vector<std::optional<double>> MemoryChain::lower_bounds() const {
  std::vector<std::optional<double>> bounds(answers_.size());
  std::optional<double> highest;
  for (std::size_t i = answers_.size(); i-- > 0;) {
    const Answer& answer = answers_[i];
    if (!answer.lower_bound) continue;
    highest = std::max(highest.value_or(0), *answer.lower_bound);
    bounds[i] = std::min(*highest, *answer.rating);
  }
  return bounds;
}

Status check_grid(const SweepGrid& grid) {
  for (const auto& [name, values] :
       {std::pair{"ranks", &grid.ranks}, std::pair{"hbm", &grid.hbm_bytes},
        std::pair{"batch_size", &grid.batch_sizes}}) {
    for (const std::int64_t value : *values) {
      if (value < 1) return invalid_input(name, "must be above zero");
    }
    std::vector<std::int64_t> sorted = *values;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
      return invalid_input(name, "has " + std::to_string(*twice) + " twice; name each value once");
  }
  if (grid.ranks_per_host && *grid.ranks_per_host < 1)
    return invalid_input("ranks_per_host", "must be above zero");
  for (const double price : grid.rank_prices) {
    if (!(std::isfinite(price) && price > 0)) return invalid_input("price", "must be above zero");
  }
  if (grid.rank_prices.size() > 1 && grid.rank_prices.size() != grid.hbm_bytes.size())
    return invalid_input("price", "has " + std::to_string(grid.rank_prices.size()) +
                                      " prices for " + std::to_string(grid.hbm_bytes.size()) +
                                      " sizes of {hbm}; give one price, or one for every size");
  return {};
}

std::optional<double> hourly_price(const SweepGrid& grid, std::int64_t ranks, std::size_t memory) {
  if (grid.rank_prices.empty()) return std::nullopt;
  const double price = grid.rank_prices[grid.rank_prices.size() == 1 ? 0 : memory];
  return price * static_cast<double>(ranks);
}

std::vector<MachineSize> machine_sizes(const ProblemSpec& problem, const SweepGrid& grid) {
  std::vector<MachineSize> sizes;
  for (std::size_t i = 0; i < std::max<std::size_t>(grid.ranks.size(), 1); ++i) {
    const std::int64_t ranks = grid.ranks.empty() ? problem.topology.world_size : grid.ranks[i];
    for (const std::int64_t batch_size : grid.batch_sizes)
      sizes.push_back({ranks, batch_size});
    if (!grid.batch_sizes.empty()) continue;
    const bool own = i < grid.batch_size_of_ranks.size();
    sizes.push_back({ranks, own ? grid.batch_size_of_ranks[i] : problem.batch_size});
  }
  return sizes;
}

std::vector<std::size_t> by_memory(const SweepGrid& grid) {
  std::vector<std::size_t> order(std::max<std::size_t>(grid.hbm_bytes.size(), 1));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return !grid.hbm_bytes.empty() && grid.hbm_bytes[a] < grid.hbm_bytes[b];
  });
  return order;
}

ProblemSpec problem_for(const ProblemSpec& problem, const SweepGrid& grid, const MachineSize& size,
                        std::size_t memory) {
  ProblemSpec spec = problem;
  TopologySpec& topology = spec.topology;
  topology.world_size = size.ranks;
  if (grid.ranks_per_host) topology.local_world_size = *grid.ranks_per_host;
  topology.local_world_size = std::min(topology.local_world_size, size.ranks);
  spec.batch_size = size.batch_size;
  if (!grid.hbm_bytes.empty()) {
    topology.hbm_cap_bytes = grid.hbm_bytes[memory];
    topology.custom_hbm_cap_bytes.clear();
  }
  return spec;
}

}  // namespace shardwright::embedding
