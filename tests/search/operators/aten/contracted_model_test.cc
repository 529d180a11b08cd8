#include "search/operators/aten/contracted_model.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/pruned_search.h"
#include "search/operators/aten/trws_relaxation.h"
#include "search/operators/solve/solve_problem.h"
#include "tests/search/operators/aten/aten_fixture.h"
#include "tests/support/operators/aten_builder.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::contracted_model_test {

namespace {

using namespace shardwright::operators;
using redistribution::MeshShape;
using test_support::aten_request;
using test_support::flat_transitions;
using test_support::Random;

AtenModel model_of(const AtenGraph& graph, const AtenRequest& request) {
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  return build_model(graph, request, transitions, executor).value();
}

bool is_close(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::abs(a); }

double optimum(const AtenModel& model) {
  InlineExecutor executor;
  Budget budget;
  const OperatorProblem problem = lower(model, all_choices(model), std::nullopt).value();
  const ProblemSolution solved = solve_problem(problem, executor, budget);
  REQUIRE(solved.status == SolveStatus::kOptimal);
  return solved.objective;
}

// A stack of equal blocks of two products.
AtenGraph stack_of_blocks() {
  constexpr int kBlocks = 4;
  test_support::AtenBuilder builder;
  std::vector<std::uint32_t> weights;
  for (int block = 0; block < kBlocks; ++block) {
    for (const char* const name : {".up", ".down"}) {
      weights.push_back(builder.placeholder(
          AtenRole::kParameter, "layers." + std::to_string(block) + name + ".weight", {512, 512}));
    }
  }
  std::uint32_t x = builder.placeholder(AtenRole::kInput, "x", {4096, 512});
  for (std::size_t i = 0; i < weights.size(); ++i) {
    x = builder.mm(x, weights[i]);
    builder.last().module = "layers." + std::to_string(i / 2) + (i % 2 == 0 ? ".up" : ".down");
  }
  builder.output(x, AtenOutputRole::kOutput, "0");
  return builder.make();
}

std::size_t num_left_out(const AtenModel& model, const AtenModel& contracted) {
  std::size_t left_out = 0;
  for (std::size_t v = 0; v < model.costs.size(); ++v) {
    if (contracted.costs[v].size() < model.costs[v].size()) ++left_out;
  }
  return left_out;
}

}  // namespace

TEST_CASE("contracted model: a choice of the rest costs what the best one that agrees does") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3, 4, 5, 6})) {
    CAPTURE(seed);
    Random random(seed);
    const AtenGraph graph = AtenGraph::make(test_support::random_aten_graph(random, 8)).value();
    AtenRequest request = aten_request({2, 2});
    if (seed % 2 == 0) request.overlap = {0.4, 0.8};
    const AtenModel model = model_of(graph, request);
    test_support::ShufflingExecutor executor(3, seed);
    const ContractedModel contracted(model, executor);
    CHECK(num_left_out(model, contracted.model()) > 0);
    int allowed = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::uint32_t> whole;
      std::vector<std::uint32_t> rest;
      for (std::size_t v = 0; v < model.costs.size(); ++v) {
        whole.push_back(static_cast<std::uint32_t>(random.below(model.costs[v].size())));
        rest.push_back(contracted.model().costs[v].size() == 1 ? 0 : whole.back());
      }
      const double cost = cost_of(contracted.model(), rest);
      CHECK(cost <= cost_of(model, whole) * (1 + 1e-9));
      if (!(cost < kForbidden)) continue;
      ++allowed;
      const std::vector<std::uint32_t> best = contracted.expand(rest);
      CHECK(is_close(cost_of(model, best), cost));
      for (std::size_t v = 0; v < model.costs.size(); ++v) {
        if (contracted.model().costs[v].size() > 1) CHECK(best[v] == whole[v]);
      }
    }
    CHECK(allowed > 0);
    CHECK(is_close(optimum(contracted.model()), optimum(model)));
  }
}

TEST_CASE("contracted model: blocks that must run alike still do") {
  const AtenGraph graph = stack_of_blocks();
  AtenRequest request = aten_request({2, 2});
  request.blocks = BlockSharing::kEqual;
  const AtenModel model = model_of(graph, request);
  REQUIRE(std::any_of(model.leaders.begin(), model.leaders.end(), [&](std::uint32_t leader) {
    return std::count(model.leaders.begin(), model.leaders.end(), leader) > 1;
  }));
  InlineExecutor executor;
  const ContractedModel contracted(model, executor);
  CHECK(is_close(optimum(contracted.model()), optimum(model)));
  // Pruning with equal blocks bounds plans whose blocks are equal. Pruning with free blocks bounds
  // all plans.
  const ChoicePruning blocks = ChoicePruning::of_blocks(model, {});
  CHECK(blocks.messages().bound() <= optimum(model) * (1 + 1e-9));
  request.blocks = BlockSharing::kFree;
  const AtenModel free = model_of(graph, request);
  CHECK(ChoicePruning(free, {}).messages().bound() <= optimum(free) * (1 + 1e-9));
  CHECK(optimum(free) <= optimum(model) * (1 + 1e-9));
}

TEST_CASE_TEMPLATE("contracted model: least rows are what trying every row finds", T, float,
                   double) {
  Random random(7);
  for (const std::size_t columns : {std::size_t{1}, std::size_t{5}, std::size_t{19}}) {
    for (std::uint32_t rows = 0; rows < 11; ++rows) {
      std::vector<T> sent;
      std::vector<T> costs;
      std::vector<std::uint32_t> given;
      for (std::uint32_t r = 0; r < rows; ++r) {
        sent.push_back(static_cast<T>(random.below(100)));
        if (random.below(4) != 0) given.push_back(r);
        for (std::size_t c = 0; c < columns; ++c) {
          costs.push_back(random.below(3) == 0 ? std::numeric_limits<T>::infinity()
                                               : static_cast<T>(random.below(1000)));
        }
      }
      std::vector<T> expected(columns, std::numeric_limits<T>::infinity());
      for (const std::uint32_t r : given) {
        for (std::size_t c = 0; c < columns; ++c)
          expected[c] = std::min(expected[c], sent[r] + costs[r * columns + c]);
      }
      std::vector<T> least(columns);
      least_rows(sent, given, costs.data(), least);
      CHECK(least == expected);
    }
  }
}

}  // namespace shardwright::contracted_model_test
