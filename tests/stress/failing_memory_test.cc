// Every engine with a failing allocation: it returns an error or the right answer, and never ends
// the process.
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/embedding/planner.h"
#include "runtime/embedding/replan.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/instance_json.h"
#include "runtime/operators/solve.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

namespace shardwright::failing_memory_test {

namespace {

using namespace shardwright;
using namespace shardwright::test_support;

constexpr int kThreads = 2;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

std::shared_ptr<const embedding::Problem> load(const std::string& name) {
  const std::string path = "tests/golden/embedding/cases/" + name + ".json.gz";
  return std::make_shared<const embedding::Problem>(
      require(embedding::Problem::make(require(read_problem(require(read_file(path)))))));
}

PlanOptions best_options() {
  PlanOptions options;
  options.mode = PlanMode::kBest;
  options.work_limit = 20'000;
  options.threads = kThreads;
  return options;
}

// `answer` runs an engine and returns one figure of its result.
void check_failures(const std::function<double()>& answer, std::uint64_t tries) {
  const double expected = answer();  // also starts the threads
  const AllocationScope scope;
  CHECK(answer() == expected);
  const std::uint64_t allocations = scope.allocations();
  REQUIRE(allocations > 100);
  Random random(allocations);
  std::uint64_t thrown = 0;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const std::uint64_t n = i < tries / 4 ? i + 1 : 1 + random.below(allocations);
    INFO("allocation ", n);
    double got = expected;
    try {
      const FailingAllocation failing(n);
      got = answer();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    CHECK(got == expected);
  }
  CHECK(thrown > tries / 2);
}

}  // namespace

TEST_CASE("memory: best mode survives any allocation that fails") {
  const std::uint64_t tries = kSanitized ? 20 : 150;
  for (const char* name : {"01_small_2t_2r_default", "09_mixed_default_20t_16r_2h"}) {
    INFO(name);
    const auto problem = load(name);
    check_failures(
        [&] { return require(plan_embedding(problem, best_options())).best_rating.value(); },
        tries);
  }
}

TEST_CASE("memory: replan survives any allocation that fails") {
  const auto problem = load("09_mixed_default_20t_16r_2h");
  const EmbeddingPlanResult result = require(plan_embedding(problem, best_options()));
  std::string text;
  write_plan(*problem, result, {}, [&](std::string_view part) { text += part; });
  const PlanDocument document = require(read_plan(text));
  ReplanOptions options;
  options.plan = best_options();
  options.migration_weight = 0.5;
  check_failures(
      [&] {
        return require(replan_embedding(problem, document.plan.value(), options))
            .best_rating.value();
      },
      kSanitized ? 20 : 100);
}

TEST_CASE("memory: the operators' solver survives any allocation that fails") {
  const auto problem = require(read_cost_instance(
      require(read_file("tests/golden/operators/colossal_resnet50_2x2.json.gz")), {}));
  OperatorsOptions options;
  options.threads = kThreads;
  check_failures([&] { return require(solve_operators(problem, options)).objective; },
                 kSanitized ? 20 : 200);
}

}  // namespace shardwright::failing_memory_test
