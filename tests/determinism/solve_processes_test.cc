// The operators' solver in several processes finds what one process finds, and ends when one of
// them leaves.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "runtime/execution/processes/thread_exchange.h"
#include "runtime/operators/solve.h"
#include "search/operators/solve/exact/branch_and_bound.h"
#include "search/operators/solve/solve.h"
#include "search/search_group.h"
#include "tests/support/operators/random_cost_instance.h"

namespace shardwright::solve_processes_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;

constexpr std::uint64_t kMegabyte = 1'000'000;

CostInstance instance_of(std::size_t nodes) {
  RandomCostInstanceStyle style;
  style.num_nodes = nodes;
  style.min_strategies = 4;
  style.max_strategies = 12;
  style.functional_share = 0;
  style.long_lived_share = 0.02;
  return CostInstance::make(random_cost_instance(3, style)).value();
}

// Too large for branch and bound, so that the local search has to do it, after little else.
SolverParameters local_parameters() {
  SolverParameters parameters;
  parameters.stages.most_branched_strategies = 0;
  parameters.stages.most_table_entries = 100;
  parameters.stages.most_relaxation_work = 1;
  return parameters;
}

// Nothing but branching proves anything soon.
SolverParameters branching_parameters() {
  SolverParameters parameters;
  parameters.branch.most_table_entries = 100;
  parameters.branch.most_labels = 100;
  parameters.branch.most_rounds = 1;
  parameters.branch.batch = 4;
  return parameters;
}

// What one process found, and what it did itself.
struct Found {
  SolveResult result;
  std::uint64_t work = 0;
  std::uint64_t others_work = 0;
  ExchangeTraffic traffic;
};

Found solve_locally(const CostInstance& instance, Exchange* exchange) {
  SearchGroup group(exchange);
  InlineExecutor executor;
  Budget budget(120'000'000, std::nullopt);
  SolveOptions options;
  options.group = &group;
  Found found;
  found.result = solve(instance, executor, budget, options, local_parameters());
  group.leave();
  found.work = budget.work_done();
  found.others_work = found.result.others_work;
  found.traffic = group.traffic();
  return found;
}

// Some subproblems of branch and bound.
Found branch(const CostInstance& instance, Exchange* exchange) {
  constexpr std::size_t kSubproblems = 64;
  SearchGroup group(exchange);
  InlineExecutor executor;
  Budget budget;
  const BranchResult proved = branch_and_bound(
      instance, {}, kSubproblems, executor, budget, [](const ExactResult&) {},
      branching_parameters(), &group);
  group.leave();
  Found found;
  found.result.choice = proved.choice.value_or(std::vector<std::uint32_t>());
  found.result.objective = proved.cost;
  found.result.lower_bound = proved.lower_bound;
  found.work = budget.work_done();
  found.others_work = proved.others_work;
  found.traffic = group.traffic();
  return found;
}

// Processes find what one of them finds, and each does a part of the work that is dealt out.
void check_processes(const std::function<Found(Exchange*)>& find) {
  const Found alone = find(nullptr);
  CHECK(alone.others_work == 0);
  CHECK(alone.traffic.rounds == 0);
  for (const std::uint32_t processes : {2U, 4U}) {
    CAPTURE(processes);
    const auto answers =
        run_processes(processes, [&](ThreadExchange& exchange) { return find(&exchange); });
    std::uint64_t dealt = 0;  // every process counts that of all others
    for (const Found& answer : answers)
      dealt += answer.others_work;
    dealt /= processes - 1;
    for (const Found& answer : answers) {
      CHECK(answer.result.status == alone.result.status);
      CHECK(answer.result.choice == alone.result.choice);
      CHECK(answer.result.objective == alone.result.objective);
      CHECK(answer.result.lower_bound == alone.result.lower_bound);
      CHECK(answer.result.stopped_by == alone.result.stopped_by);
      CHECK(answer.work == alone.work);
      CHECK(answer.traffic.rounds > 5);
      CHECK(answer.traffic.most_bytes < kMegabyte);
      CHECK(answer.others_work < dealt);
      CHECK(answer.others_work > dealt / processes / 2);
    }
  }
}

void check_same(const OperatorsResult& found, const OperatorsResult& alone) {
  CHECK(found.status == alone.status);
  CHECK(found.choice == alone.choice);
  CHECK(found.objective == alone.objective);
  CHECK(found.lower_bound == alone.lower_bound);
  CHECK(found.stopped_by == alone.stopped_by);
  CHECK(found.work == alone.work);
}

}  // namespace

TEST_CASE("determinism: any number of processes finds the choice of one by local search") {
  const CostInstance instance = instance_of(1'000);
  REQUIRE(!solve_locally(instance, nullptr).result.choice.empty());
  check_processes([&](Exchange* exchange) { return solve_locally(instance, exchange); });
}

TEST_CASE("determinism: any number of processes proves the bound of one by branch and bound") {
  const CostInstance instance = instance_of(150);
  check_processes([&](Exchange* exchange) { return branch(instance, exchange); });
}

TEST_CASE("determinism: a stop in one process ends the solver of all, with a choice") {
  const OperatorProblem problem{LoweredInstance(instance_of(4'000))};
  const auto answers = run_processes(3, [&](ThreadExchange& exchange) {
    OperatorsOptions options;
    options.threads = 1;
    options.time_limit_s = 300;
    options.exchange = &exchange;
    std::stop_source stop;
    options.stop = stop.get_token();
    std::size_t reports = 0;
    if (exchange.process() == 1) {
      options.on_progress = [&](const OperatorsProgress& progress) {
        if (!progress.choice.empty() && ++reports > 5) stop.request_stop();
      };
    }
    return solve_operators(problem, options);
  });
  for (const auto& answer : answers) {
    REQUIRE(answer.ok());
    CHECK(!answer->choice.empty());
    CHECK(answer->stopped_by == StopReason::kCancelled);
  }
}

TEST_CASE("determinism: solvers of different instances, seeds or limits are told so") {
  const OperatorProblem problem{LoweredInstance(instance_of(30))};
  const OperatorProblem other{LoweredInstance(instance_of(4'000))};
  for (const int difference : {0, 1, 2}) {
    CAPTURE(difference);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      OperatorsOptions options;
      options.threads = 1;
      options.work_limit = 1'000'000;
      options.exchange = &exchange;
      const bool differs = exchange.process() == 1;
      if (differs && difference == 1) options.seed = 7;
      if (differs && difference == 2) options.work_limit = 1'000'001;
      return solve_operators(differs && difference == 0 ? other : problem, options);
    });
    for (const auto& answer : answers) {
      REQUIRE(!answer.ok());
      CHECK(answer.error().code == ErrorCode::kInvalidInput);
      CHECK(answer.error().where == "exchange");
    }
  }
}

TEST_CASE("determinism: process 0 solves alone if another never begins") {
  const OperatorProblem problem{LoweredInstance(instance_of(30))};
  OperatorsOptions options;
  options.threads = 1;
  const OperatorsResult alone = solve_operators(problem, options).value();
  const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
    OperatorsOptions own = options;
    own.exchange = &exchange;
    if (exchange.process() == 1) own.threads = -1;  // refused
    return solve_operators(problem, own);
  });
  CHECK(!answers[1].ok());
  REQUIRE(answers[0].ok());
  check_same(*answers[0], alone);
}

}  // namespace shardwright::solve_processes_test
