#include "search/embedding/questions/sweep_grid.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::memory_chain_test {

using namespace shardwright;
using embedding::by_memory;
using embedding::check_grid;
using embedding::machine_sizes;
using embedding::MachineSize;
using embedding::MemoryChain;
using embedding::problem_for;
using embedding::SweepGrid;

TEST_CASE("memory chain: a bound holds for less memory, and never exceeds the rating") {
  MemoryChain chain;
  chain.add(std::nullopt, std::nullopt, std::nullopt);
  chain.add(embedding::Plan(), 9.0, 3.0);
  chain.add(embedding::Plan(), 8.0, std::nullopt);
  chain.add(embedding::Plan(), 6.0, 5.0);
  chain.add(embedding::Plan(), 4.0, 2.0);
  const std::vector<std::optional<double>> expected = {std::nullopt, 5.0, std::nullopt, 5.0, 2.0};
  CHECK(chain.lower_bounds() == expected);
}

TEST_CASE("memory chain: a bound above the rating for less memory is lowered to that rating") {
  MemoryChain chain;
  chain.add(embedding::Plan(), 4.0, 1.0);
  chain.add(embedding::Plan(), 6.0, 5.0);
  CHECK(chain.lower_bounds().front() == 4.0);
}

TEST_CASE("memory chain: planning starts from the last plan that was found") {
  MemoryChain chain;
  CHECK(chain.start() == nullptr);
  chain.add(std::nullopt, std::nullopt, std::nullopt);
  CHECK(chain.start() == nullptr);
  chain.add(embedding::Plan(), 1.0, std::nullopt);
  const auto first = chain.start();
  REQUIRE(first != nullptr);
  chain.add(std::nullopt, std::nullopt, std::nullopt);
  CHECK(chain.start() == first);
}

TEST_CASE("sweep grid: empty lists stand for the problem's own values") {
  const embedding::ProblemSpec problem = test_support::problem_spec(2, 8, 4);
  SweepGrid grid;
  REQUIRE(machine_sizes(problem, grid).size() == 1);
  CHECK(machine_sizes(problem, grid)[0].ranks == 8);
  CHECK(machine_sizes(problem, grid)[0].batch_size == problem.batch_size);
  CHECK(by_memory(grid) == std::vector<std::size_t>{0});
  grid.ranks = {2, 16};
  grid.batch_size_of_ranks = {100};
  const std::vector<MachineSize> sizes = machine_sizes(problem, grid);
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0].batch_size == 100);
  CHECK(sizes[1].batch_size == problem.batch_size);
  CHECK(problem_for(problem, grid, sizes[0], 0).topology.local_world_size == 2);
  CHECK(problem_for(problem, grid, sizes[1], 0).topology.local_world_size == 4);
}

TEST_CASE("sweep grid: memory sizes are in ascending order and replace those of single ranks") {
  embedding::ProblemSpec problem = test_support::problem_spec(1, 2, 2);
  problem.topology.custom_hbm_cap_bytes = {1, 2};
  SweepGrid grid;
  grid.hbm_bytes = {30, 10, 20, 10};
  CHECK(by_memory(grid) == std::vector<std::size_t>{1, 3, 2, 0});
  const embedding::ProblemSpec changed =
      problem_for(problem, grid, machine_sizes(problem, grid).front(), 2);
  CHECK(changed.topology.hbm_cap_bytes == 20);
  CHECK(changed.topology.custom_hbm_cap_bytes.empty());
  grid.hbm_bytes = {30, 0};
  CHECK(check_grid(grid).error().where == "hbm");
}

}  // namespace shardwright::memory_chain_test
