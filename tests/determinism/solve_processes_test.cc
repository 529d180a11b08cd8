// Several processes solve one operator problem, each with its own seed. All return the best choice.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "runtime/operators/solve.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/thread_exchange.h"

namespace shardwright::solve_processes_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;

OperatorProblem problem_of(std::size_t nodes) {
  RandomCostInstanceStyle style;
  style.num_nodes = nodes;
  style.min_strategies = 4;
  style.max_strategies = 12;
  style.functional_share = 0;
  style.long_lived_share = 0.02;
  return OperatorProblem{
      LoweredInstance(CostInstance::make(random_cost_instance(3, style)).value())};
}

OperatorsOptions options_of(Exchange* exchange, std::uint64_t seed = 0) {
  OperatorsOptions options;
  options.threads = 1;
  options.work_limit = 40'000'000;
  options.seed = seed;
  options.exchange = exchange;
  return options;
}

}  // namespace

TEST_CASE("solving processes: all have the best choice of their seeds, and the highest bound") {
  // Only local search runs, and it draws random numbers.
  const OperatorProblem problem = problem_of(10'000);
  std::vector<OperatorsResult> single;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    single.push_back(solve_operators(problem, options_of(nullptr, seed)).value());
  for (const std::uint32_t processes : {1U, 2U, 4U}) {
    CAPTURE(processes);
    const OperatorsResult* best = &single[0];
    double bound = 0;
    for (std::uint32_t process = 0; process < processes; ++process) {
      REQUIRE(!single[process].choice.empty());
      if (single[process].objective < best->objective) best = &single[process];
      bound = std::max(bound, single[process].lower_bound);
    }
    if (processes == 4) CHECK(best != &single[0]);
    const auto answers = run_processes(processes, [&](ThreadExchange& exchange) {
      return solve_operators(problem, options_of(&exchange)).value();
    });
    for (std::uint32_t process = 0; process < processes; ++process) {
      CHECK(answers[process].choice == best->choice);
      CHECK(answers[process].objective == best->objective);
      CHECK(answers[process].peak_bytes == best->peak_bytes);
      CHECK(answers[process].lower_bound == bound);
      CHECK(answers[process].status == SolveStatus::kFeasible);
    }
  }
}

TEST_CASE("solving processes: those that were not given the same are told so") {
  const OperatorProblem problem = problem_of(30);
  const OperatorProblem other = problem_of(40);
  for (const int difference : {0, 1, 2}) {
    CAPTURE(difference);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      OperatorsOptions options = options_of(&exchange);
      const bool differs = exchange.process() == 1;
      if (differs && difference == 1) options.seed = 7;
      if (differs && difference == 2) ++*options.work_limit;
      return solve_operators(differs && difference == 0 ? other : problem, options);
    });
    for (const auto& answer : answers) {
      REQUIRE(!answer.ok());
      CHECK(answer.error().code == ErrorCode::kInvalidInput);
      CHECK(answer.error().where == "exchange");
    }
  }
}

TEST_CASE("solving processes: one that is refused keeps nobody waiting, and a proof is for all") {
  const OperatorProblem problem = problem_of(30);
  const OperatorsResult alone = solve_operators(problem, options_of(nullptr)).value();
  REQUIRE(alone.status == SolveStatus::kOptimal);
  for (const bool refused : {true, false}) {
    CAPTURE(refused);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      OperatorsOptions options = options_of(&exchange);
      std::stop_source stop;
      stop.request_stop();
      if (exchange.process() == 1 && refused) options.threads = -1;
      if (exchange.process() == 1 && !refused) options.stop = stop.get_token();
      return solve_operators(problem, options);
    });
    REQUIRE(answers[0].ok());
    CHECK(answers[0]->choice == alone.choice);
    CHECK(answers[1].ok() == !refused);
    if (refused) continue;
    CHECK(answers[1]->choice == alone.choice);
    CHECK(answers[1]->status == SolveStatus::kOptimal);
    CHECK(answers[1]->stopped_by == StopReason::kFinished);
  }
}

}  // namespace shardwright::solve_processes_test
