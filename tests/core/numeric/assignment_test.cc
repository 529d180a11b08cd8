// Cheapest assignments, compared with all permutations.
#include "core/numeric/assignment.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::assignment_test {

namespace {

using shardwright::cheapest_assignment;

using Costs = std::vector<std::vector<double>>;

double sum_of(const Costs& costs, const std::vector<std::uint32_t>& column_of) {
  double sum = 0;
  for (std::size_t row = 0; row < column_of.size(); ++row)
    sum += costs[row][column_of[row]];
  return sum;
}

double least_sum(const Costs& costs) {
  std::vector<std::uint32_t> columns(costs.size());
  std::iota(columns.begin(), columns.end(), 0U);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, sum_of(costs, columns));
  } while (std::next_permutation(columns.begin(), columns.end()));
  return least;
}

}  // namespace

TEST_CASE("assignment: no permutation costs less") {
  test_support::Random random(5);
  for (int round = 0; round < 300; ++round) {
    const auto size = static_cast<std::uint32_t>(1 + random.below(7));
    // Every second round has only four different costs, so that assignments tie.
    const std::uint64_t values = round % 2 == 0 ? 4 : 1'000'000;
    Costs costs(size, std::vector<double>(size));
    for (std::vector<double>& row : costs) {
      for (double& cost : row)
        cost = static_cast<double>(random.below(values)) - 1;
    }
    const std::vector<std::uint32_t> found = cheapest_assignment(
        size, [&](std::uint32_t row, std::uint32_t column) { return costs[row][column]; });
    std::vector<std::uint32_t> columns = found;
    std::sort(columns.begin(), columns.end());
    for (std::uint32_t i = 0; i < size; ++i)
      REQUIRE(columns[i] == i);
    CHECK(sum_of(costs, found) == doctest::Approx(least_sum(costs)));
  }
}

TEST_CASE("assignment: nothing to assign") {
  CHECK(cheapest_assignment(0, [](std::uint32_t, std::uint32_t) { return 1.0; }).empty());
}

}  // namespace shardwright::assignment_test
