// Planning inside the tasks of a host program that uses oneTBB itself.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/planner.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::host_tasks_test {

using namespace shardwright;

namespace {

std::shared_ptr<const embedding::Problem> problem_of(std::size_t tables) {
  return std::make_shared<const embedding::Problem>(
      embedding::Problem::make(test_support::problem_spec(tables, 8, 4, 200'000, 64)).value());
}

std::string planned(std::size_t tables, int threads) {
  PlanOptions options;
  options.threads = threads;
  options.work_limit = 100'000;
  const auto result = plan_embedding(problem_of(tables), options);
  return result.ok() && result->plan ? embedding::ranks_sha1(*result->plan) : "no plan";
}

}  // namespace

TEST_CASE(
    "host tasks: planning inside tbb::parallel_for gives the same plans and does not deadlock") {
  constexpr std::size_t kPlans = 12;
  std::vector<std::string> alone;
  for (std::size_t i = 0; i < kPlans; ++i)
    alone.push_back(planned(5 + i, 1));
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    std::vector<std::string> inside(kPlans);
    tbb::parallel_for(std::size_t{0}, kPlans,
                      [&](std::size_t i) { inside[i] = planned(5 + i, threads); });
    CHECK(inside == alone);
  }
}

TEST_CASE("host tasks: while a task plans, its thread runs no other task of the host") {
  static thread_local bool planning = false;
  std::atomic<int> nested{0};
  tbb::task_arena arena(2);
  arena.execute([&] {
    tbb::parallel_for(
        0, 24,
        [&](int i) {
          // A thread that waits for its plan must not take another task. If it did, `planning`
          // would be true here.
          if (planning) ++nested;
          planning = true;
          CHECK(planned(4 + static_cast<std::size_t>(i % 3), 2) != "no plan");
          planning = false;
        },
        tbb::simple_partitioner());
  });
  CHECK(nested == 0);
}

TEST_CASE("host tasks: a host limited to one thread still gets its plan") {
  tbb::task_arena arena(1);
  std::string inside;
  arena.execute([&] {
    tbb::task_group group;
    group.run_and_wait([&] { inside = planned(9, 4); });
  });
  CHECK(inside == planned(9, 1));
}

TEST_CASE("host tasks: threads of the host can plan at the same time") {
  std::vector<std::string> found(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&found, i] { found[i] = planned(7, 2); });
    }
  }
  for (const std::string& each : found)
    CHECK(each == planned(7, 1));
}

}  // namespace shardwright::host_tasks_test
