// The executor that planners use: memory, overlapping stages, exceptions.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "runtime/execution/planning_executor.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/explore.h"
#include "tests/support/overlapping_domain.h"
#include "tests/support/sanitized.h"

namespace shardwright::planning_executor_test {
namespace {

std::int64_t resident_bytes() {
  std::int64_t total = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void run_executors(int count) {
  for (int i = 0; i < count; ++i) {
    PlanningExecutor executor(2);
    std::atomic<std::size_t> covered{0};
    executor.parallel_for(
        8, 1, [&](unsigned, std::size_t begin, std::size_t end) { covered += end - begin; });
    CHECK(covered == 8);
  }
}

TEST_CASE("executor: thousands of executors leave no memory behind") {
  run_executors(500);
  const std::int64_t before = resident_bytes();
  run_executors(2000);
  // An arena of oneTBB takes 7 KiB, so 2,000 leaked arenas would take 14 MB.
  if (!test_support::kSanitized) CHECK(resident_bytes() - before < 2 << 20);
}

TEST_CASE("executor: the next batch is proposed while one is evaluated") {
  for (int repetition = 0; repetition < 20; ++repetition) {
    PlanningExecutor executor(2);
    test_support::Overlapping domain(false);
    Budget budget;
    CHECK(explore(domain, executor, budget) == StopReason::kFinished);
    CHECK(domain.overlapped());
  }
}

TEST_CASE(
    "executor: loops in progress cover each range once, and a worker runs one range at a "
    "time") {
  constexpr std::size_t kLoops = 6;
  for (const int threads : {1, 2, 4, 8}) {
    PlanningExecutor executor(threads);
    std::vector<std::atomic<int>> visits(kLoops * 1000);
    std::vector<std::atomic<bool>> busy(executor.workers());
    std::atomic<bool> shared = false;
    const auto visit = [&](std::size_t loop) {
      return [&, loop](unsigned worker, std::size_t begin, std::size_t end) {
        if (busy[worker].exchange(true)) shared = true;
        for (std::size_t i = begin; i < end; ++i)
          ++visits[loop * 1000 + i];
        busy[worker] = false;
      };
    };
    std::vector<decltype(visit(0))> bodies;
    for (std::size_t loop = 0; loop < kLoops; ++loop)
      bodies.push_back(visit(loop));
    std::vector<Executor::Loop> loops;
    for (auto& body : bodies)
      loops.push_back(executor.begin_for(1000, 3, body));
    for (auto& loop : loops)
      loop.wait();
    CHECK_FALSE(shared);
    CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& n) { return n == 1; }));
  }
}

TEST_CASE("executor: ranges are no shorter and no longer than asked for") {
  for (const int threads : {2, 3, 8}) {
    PlanningExecutor executor(threads);
    for (const RangeSizes sizes : {RangeSizes(1, 1), RangeSizes(2, 5), RangeSizes(7)}) {
      std::atomic<std::size_t> covered = 0;
      std::atomic<bool> fits = true;
      executor.parallel_for(100, sizes, [&](unsigned, std::size_t begin, std::size_t end) {
        covered += end - begin;
        const bool is_long_enough = end - begin >= sizes.least || end == 100;
        if (!is_long_enough || end - begin > sizes.most) fits = false;
      });
      CHECK(fits);
      CHECK(covered == 100);
    }
  }
}

TEST_CASE("executor: an exception reaches the waiting caller, and a dropped loop ends first") {
  PlanningExecutor executor(2);
  std::atomic<int> running = 0;
  const auto thrower = [](unsigned, std::size_t, std::size_t) { throw std::runtime_error("body"); };
  const auto counter = [&](unsigned, std::size_t, std::size_t) {
    ++running;
    --running;
  };
  for (int repetition = 0; repetition < 50; ++repetition) {
    {
      const auto dropped = executor.begin_for(1000, 1, counter);
      CHECK_THROWS_WITH_AS(executor.parallel_for(100, 1, thrower), "body", std::runtime_error);
    }
    CHECK(running == 0);
    std::atomic<std::size_t> covered = 0;
    executor.parallel_for(
        100, 1, [&](unsigned, std::size_t begin, std::size_t end) { covered += end - begin; });
    CHECK(covered == 100);
  }
}

}  // namespace
}  // namespace shardwright::planning_executor_test
