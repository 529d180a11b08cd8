// Solves tiny cost instances by trying all choices.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::test_support {

struct NaiveCostSolution {
  // The first of the cheapest in the order in which node 0 changes fastest.
  std::vector<std::uint32_t> choice;
  double cost = 0;
  std::uint64_t num_optima = 0;
};

// Returns nullopt if no choice is feasible. Time: the product of the numbers of strategies.
std::optional<NaiveCostSolution> solve_naively(const operators::CostInstance& instance);

}  // namespace shardwright::test_support
