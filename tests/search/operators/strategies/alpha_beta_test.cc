// Costs of collectives in the alpha-beta model: worked examples, several axes.
#include "search/operators/strategies/reshard_path.h"

#include <doctest/doctest.h>

namespace shardwright::alpha_beta_test {

using namespace shardwright::operators;

TEST_CASE("alpha beta: four devices and 2048 elements") {
  const CollectiveAxis axis{4, 1, 1};
  CHECK(axis.all_gather(2048) == 1537.1);
  CHECK(axis.all_reduce(2048) == 3073.01);
  CHECK(axis.reduce_scatter(2048) == 1537.001);
  CHECK(axis.all_to_all(2048) == 769.001);
}

TEST_CASE("alpha beta: an axis of one device costs its latency") {
  const CollectiveAxis axis{1, 3, 7};
  CHECK(axis.all_gather(1e6) == 3.1);
  CHECK(axis.all_to_all(1e6) == 3.001);
}

TEST_CASE("alpha beta: one axis has its own rates, several those of the flattened mesh") {
  const auto mesh = DeviceMesh::make({{2, 4, 8}, {1, 2, 3}, {0.5, 0.25, 0.125}, {}}).value();
  const CollectiveAxis second = CollectiveAxis::over(*mesh, 0b010);
  CHECK(second.devices == 4);
  CHECK(second.alpha == 2);
  CHECK(second.beta == 0.25);
  const CollectiveAxis several = CollectiveAxis::over(*mesh, 0b011);
  CHECK(several.devices == 64);
  CHECK(several.alpha == 3);
  CHECK(several.beta == 0.5);
}

}  // namespace shardwright::alpha_beta_test
