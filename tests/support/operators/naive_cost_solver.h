// Solves tiny cost instances by trying everything.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::test_support {

struct NaiveCostSolution {
  std::vector<std::uint32_t> choice;  // the first of the cheapest if the first node changes fastest
  double cost = 0;
  std::uint64_t num_optima = 0;
};

// Returns nothing if no choice is feasible. Time: the product of the numbers of strategies.
std::optional<NaiveCostSolution> solve_naively(const operators::CostInstance& instance);

}  // namespace shardwright::test_support
