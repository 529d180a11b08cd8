// Plans of random training steps with memory limits, compared with an enumeration of placements,
// and with plans on meshes with additional axes of one device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/search/operators/aten/aten_fixture.h"
#include "tests/support/operators/aten_builder.h"
#include "tests/support/operators/naive_aten_planner.h"
#include "tests/support/random.h"

namespace shardwright::operators_plan_property_test {

namespace {

using namespace shardwright::operators;
using redistribution::MeshShape;
using test_support::aten_request;
using test_support::flat_transitions;
using test_support::NaiveAtenAnswer;
using test_support::NaiveAtenPlanner;
using test_support::Random;

constexpr std::uint64_t kMostTried = 30'000;

bool same_cost(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

AtenSolution planned(const AtenGraph& graph, const AtenRequest& request,
                     RedistributionChoice choice = RedistributionChoice::kShortest) {
  TransitionModel transitions = flat_transitions(request, choice);
  InlineExecutor executor;
  Budget budget;
  return solve_plan(graph, request, transitions, executor, budget).value();
}

struct Counts {
  int plans = 0;
  int proofs = 0;      // no plan exists
  int compared = 0;    // with the whole enumeration
  int no_optimum = 0;  // plans without a proof
};

// Checks that an answer without limits is a plan, or a proof that none exists.
void check_answer(const AtenGraph& graph, const AtenRequest& request, const AtenSolution& answer,
                  Counts& counts) {
  REQUIRE(answer.status != SolveStatus::kUnknown);
  const bool is_plan = answer.plan.has_value();
  (is_plan ? counts.plans : counts.proofs) += 1;
  const double cost = answer.evaluation.total_us();
  if (is_plan) {
    CHECK(answer.evaluation.violations.empty());
    CHECK(answer.evaluation.peak_bytes <= *request.memory_limit);
    CHECK(answer.lower_bound_us <= cost * (1 + 1e-9));
    counts.no_optimum += answer.status == SolveStatus::kFeasible ? 1 : 0;
  } else if (answer.shortage) {
    CHECK(answer.shortage->minimum_bytes > *request.memory_limit);
  }
  TransitionModel transitions = flat_transitions(request);
  const NaiveAtenAnswer naive = NaiveAtenPlanner(graph, request.mesh, request.device, transitions)
                                    .run(*request.memory_limit, kMostTried);
  if (naive.least_us) {
    REQUIRE(is_plan);
    CHECK(answer.lower_bound_us <= *naive.least_us * (1 + 1e-9));
    if (answer.status == SolveStatus::kOptimal) CHECK(cost <= *naive.least_us * (1 + 1e-9));
  }
  if (!naive.ended) return;
  ++counts.compared;
  REQUIRE(is_plan == naive.least_us.has_value());
  if (is_plan) CHECK(same_cost(cost, *naive.least_us));
}

// Axes of one device must not change the answer.
void check_same(const AtenSolution& one, const AtenSolution& other) {
  CHECK(one.status == other.status);
  CHECK(one.evaluation.total_us() == other.evaluation.total_us());
  CHECK(one.evaluation.peak_bytes == other.evaluation.peak_bytes);
  CHECK(one.lower_bound_us == other.lower_bound_us);
  REQUIRE(one.shortage.has_value() == other.shortage.has_value());
  if (one.shortage) CHECK(one.shortage->minimum_bytes == other.shortage->minimum_bytes);
}

MeshShape random_mesh(Random& random) {
  const std::vector<MeshShape> meshes{{2}, {3}, {4}, {2, 2}, {2, 2}, {2, 3}};
  return meshes[random.below(meshes.size())];
}

// Returns a graph of 3 to 30 operators; with two mesh axes, of up to 16, since operators then have
// more strategies.
AtenGraph random_graph(Random& random, const MeshShape& mesh) {
  const std::size_t operators = 3 + random.below(mesh.size() == 1 ? 28 : 14);
  return AtenGraph::make(test_support::random_training_graph(random, operators)).value();
}

MeshShape with_ones(MeshShape mesh, Random& random) {
  for (std::size_t i = 1 + random.below(2); i > 0; --i)
    mesh.insert(mesh.begin() + static_cast<std::ptrdiff_t>(random.below(mesh.size() + 1)), 1);
  return mesh;
}

// Returns a limit between 30% of the cheapest plan's peak and just below the peak.
std::int64_t random_limit(Random& random, std::int64_t peak) {
  const auto percent = static_cast<std::int64_t>(30 + random.below(70));
  return random.below(5) == 0 ? peak - 1 : peak * percent / 100;
}

void check_random_graphs(std::uint64_t first_seed, std::uint64_t graphs) {
  Counts counts;
  for (std::uint64_t seed = first_seed; seed < first_seed + graphs; ++seed) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    AtenRequest request = aten_request(random_mesh(random));
    const AtenGraph graph = random_graph(random, request.mesh);
    request.memory_limit = random_limit(random, planned(graph, request).evaluation.peak_bytes);
    const AtenSolution answer = planned(graph, request);
    check_answer(graph, request, answer, counts);
    AtenRequest same = request;
    same.mesh = with_ones(request.mesh, random);
    check_same(planned(graph, same), answer);
  }
  MESSAGE(counts.plans << " plans, " << counts.no_optimum << " of them without a proof, "
                       << counts.proofs << " proofs that there is none, " << counts.compared
                       << " answers compared with everything");
  if (graphs == 1) return;  // the seed is from the environment
  CHECK(counts.plans > 0);
  CHECK(counts.proofs > 0);
  CHECK(counts.compared > 0);
}

}  // namespace

TEST_CASE("plans: random training steps within a limit have the best plan, or provably none") {
  check_random_graphs(1, 500);
}

TEST_CASE("plans: axes of one device change nothing, whatever prices the moves") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    const AtenRequest request = aten_request(random_mesh(random));
    const AtenGraph graph = random_graph(random, request.mesh);
    AtenRequest same = request;
    same.mesh = with_ones(request.mesh, random);
    for (const auto choice :
         {RedistributionChoice::kShortest, RedistributionChoice::kAutoParallel}) {
      check_same(planned(graph, same, choice), planned(graph, request, choice));
    }
  }
}

}  // namespace shardwright::operators_plan_property_test
