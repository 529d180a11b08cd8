// The lower bound on the remaining cost of a path: no move lowers it by more than the move costs.
#include "search/redistribution/cost_estimate.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/nccl_costs.h"
#include "core/redistribution/cost/topology_costs.h"
#include "core/redistribution/placement/placement.h"
#include "core/redistribution/placement/placement_notation.h"
#include "search/redistribution/cheapest_path.h"
#include "search/redistribution/step_costs.h"
#include "tests/support/redistribution/random_redistribution.h"

namespace shardwright::cost_estimate_test {

namespace {

using namespace shardwright::redistribution;
using namespace shardwright::test_support;

constexpr double kAny = std::numeric_limits<double>::max();

Placement placed(const std::vector<std::string>& words) { return read_words(words, 4).value(); }

// A pair of placements of a tensor of four dimensions on 2x2x2x2 devices. Some divide evenly.
RandomPair pair_on_four_axes(Random& random) {
  RandomPair pair;
  pair.tensor.mesh = {2, 2, 2, 2};
  const bool uneven = random.below(2) == 0;
  for (int dim = 0; dim < 4; ++dim) {
    const std::size_t size = std::size_t{8} << random.below(4);
    pair.tensor.shape.push_back(static_cast<std::int64_t>(size + (uneven ? random.below(4) : 0)));
  }
  pair.source = random_placement(random, pair.tensor, true, ReduceOp::kSum);
  pair.target = random_placement(random, pair.tensor, true, ReduceOp::kSum);
  return pair;
}

// Checks that no move lowers the bound by more than the move costs.
void check_consistent(const RandomPair& pair, const StepCosts& costs, Random& random) {
  CostEstimate estimate(pair.tensor, costs, costs.knows_groups(), pair.source, pair.target, kAny);
  CHECK(estimate.left(pair.target) == 0);
  MoveRules rules;
  rules.groups = costs.knows_groups();
  MoveVisitor visitor(pair.tensor, rules, pair.target);
  Placement at = pair.source;
  for (int step = 0; step < 12; ++step) {
    const double left = estimate.left(at);
    std::size_t dearer = 0;
    std::size_t count = 0;
    Placement next_at = at;
    visitor.visit(at, [&](const Move& move, const Placement& next, std::int64_t held_after) {
      const double cost = costs.cost({move, visitor.held(), held_after, visitor.parts()});
      dearer += left > (cost + estimate.left(next)) * (1 + 1e-12) ? 1U : 0U;
      if (random.below(++count) == 0) next_at = next;
    });
    CHECK(dearer == 0);
    at = next_at;
  }
}

TopologyCosts random_links(Random& random, const MeshShape& mesh) {
  std::vector<AxisLink> links;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis)
    links.push_back(
        {0.1 * static_cast<double>(random.below(100)), static_cast<double>(1 + random.below(100))});
  return TopologyCosts::make(mesh, std::move(links)).value();
}

// A pair of placements on any mesh, with a tensor of any shape.
RandomPair pair_on_any_mesh(Random& random) {
  RandomPair pair = random_pair(random);
  pair.source = effective_placement(pair.tensor.mesh, pair.source);
  pair.target = effective_placement(pair.tensor.mesh, pair.target);
  return pair;
}

}  // namespace

TEST_CASE("cost estimate: no move lowers the bound by more than it costs") {
  Random random(5);
  for (int i = 0; i < 400; ++i) {
    const RandomPair pair = i % 2 == 0 ? pair_on_four_axes(random) : pair_on_any_mesh(random);
    CAPTURE(to_text(pair.source, 4) + " -> " + to_text(pair.target, 4));
    const DTensorCosts dtensor = DTensorCosts::make(pair.tensor.mesh, 8).value();
    check_consistent(pair, DTensorStepCosts(dtensor, 4 * num_elements(pair.tensor.shape)), random);
    const TopologyCosts links = random_links(random, pair.tensor.mesh);
    CollectiveStepCosts::Options options;
    options.launch_us = static_cast<double>(random.below(10));
    options.groups = random.below(2) == 0;
    check_consistent(pair, CollectiveStepCosts(links, options), random);
    const NcclCosts nccl =
        NcclCosts::make(pair.tensor.mesh, h100_nccl_config(random.below(2) == 0 ? 8 : 4)).value();
    options.is_monotone = false;
    check_consistent(pair, CollectiveStepCosts(nccl, options), random);
  }
}

TEST_CASE("cost estimate: the order of shards counts, and so does what lies in the way") {
  const TensorOnMesh tensor{{2, 2, 2, 2}, {16, 16, 16, 16}};
  const DTensorCosts links = DTensorCosts::make(tensor.mesh, 8).value();
  const DTensorStepCosts costs(links, 4 * num_elements(tensor.shape));
  const auto is_exact = [&](const Placement& source, const Placement& target) {
    CostEstimate estimate(tensor, costs, false, source, target, kAny);
    const double cost = find_path(tensor, costs, {}, source, target).cost;
    return estimate.left(source) == doctest::Approx(cost).epsilon(1e-9);
  };
  CHECK(
      is_exact(placed({"S(0)[0]", "S(0)[1]", "R", "R"}), placed({"S(0)[1]", "S(0)[0]", "R", "R"})));
  CHECK(is_exact(placed({"S(0)", "S(1)", "R", "R"}), placed({"S(1)", "S(0)", "R", "R"})));
  CHECK(is_exact(placed({"P(sum)", "P(sum)", "P(sum)", "S(0)"}),
                 placed({"S(3)", "S(3)", "R", "S(1)"})));
}

// A bound that is too high here finds a path of 55.001 us.
TEST_CASE("cost estimate: it does not cut the cheapest path off") {
  const TensorOnMesh tensor{{2, 2, 2, 2}, {4, 8, 8, 4}};
  const TopologyCosts links =
      TopologyCosts::make(tensor.mesh, {{4.1, 4}, {4.2, 84}, {4.5, 74}, {2.1, 14}}).value();
  CollectiveStepCosts::Options options;
  options.launch_us = 10;
  options.copy_bytes_per_us = std::numeric_limits<double>::infinity();
  options.groups = false;
  const CollectiveStepCosts costs(links, options);
  const Path path = find_path(tensor, costs, {}, placed({"S(1)[2]", "S(1)[0]", "S(1)[1]", "S(3)"}),
                              placed({"S(2)", "P(sum)", "P(sum)", "R"}));
  CHECK(path.cost == doctest::Approx(54.9693954).epsilon(1e-6));
}

}  // namespace shardwright::cost_estimate_test
