// Memory runs out while several threads plan: an error or the right plan, without a leak.
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/planner.h"
#include "runtime/execution/tbb_executor.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

namespace shardwright::planner_fault_test {

namespace {

using namespace shardwright;
using namespace shardwright::test_support;
using ProblemPtr = std::shared_ptr<const embedding::Problem>;

constexpr int kThreads = 2;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

ProblemPtr load(const std::string& name) {
  const std::string path = "tests/golden/embedding/cases/" + name + ".json.gz";
  return std::make_shared<const embedding::Problem>(
      require(embedding::Problem::make(require(read_problem(require(read_file(path)))))));
}

// The figures that identify an answer. Copying them allocates no memory.
struct Answer {
  bool planned = false;
  std::uint64_t num_proposals = 0;
  std::uint64_t num_plans = 0;
  std::uint64_t rating_bits = 0;

  bool operator==(const Answer&) const = default;
};

Answer plan(const ProblemPtr& problem) {
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = kThreads;
  const auto result = plan_embedding(problem, options);
  if (!result.ok()) return {};
  return {result->plan.has_value(), result->num_proposals, result->num_plans,
          std::bit_cast<std::uint64_t>(result->best_rating.value_or(-1))};
}

struct Tally {
  int thrown = 0;
  int thrown_elsewhere = 0;  // thrown on another thread than the caller's
  int survived = 0;          // right answers although an allocation failed
};

// Plans while the n-th allocation fails.
void plan_with_failure(const ProblemPtr& problem, std::uint64_t n, const Answer& expected,
                       Tally& tally) {
  const AllocationScope scope;
  Answer answer;
  bool thrown = false;
  bool failed = false;
  bool elsewhere = false;
  {
    const FailingAllocation failing(n);
    try {
      answer = plan(problem);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    failed = failing.failed();
    elsewhere = failing.failed_elsewhere();
  }
  // The check is exact: oneTBB keeps threads and task pools, but allocates them with malloc().
  const std::int64_t left = scope.live_bytes();
  INFO("allocation ", n);
  CHECK(left == 0);
  if (thrown) {
    CHECK(failed);
    ++tally.thrown;
    tally.thrown_elsewhere += elsewhere ? 1 : 0;
  } else {
    CHECK(answer == expected);
    tally.survived += failed ? 1 : 0;
  }
}

// Fails each of the first allocations, then random ones. `tries` is the number of runs.
void check_failures(const std::string& name, std::uint64_t tries) {
  INFO("case ", name);
  const ProblemPtr problem = load(name);
  const Answer expected = plan(problem);  // also starts oneTBB's threads
  const AllocationScope scope;
  CHECK(plan(problem) == expected);
  const std::uint64_t allocations = scope.allocations();
  REQUIRE(scope.live_bytes() == 0);
  REQUIRE(allocations > 100);

  Random random(allocations);
  Tally tally;
  for (std::uint64_t i = 0; i < tries; ++i) {
    const std::uint64_t n = i < tries / 4 ? i + 1 : 1 + random.below(allocations);
    plan_with_failure(problem, n, expected, tally);
  }
  MESSAGE(name, ": ", allocations, " allocations; of ", tries, " failures ", tally.thrown,
          " reached the caller, ", tally.thrown_elsewhere, " of them from another thread; ",
          tally.survived, " did no harm");
  CHECK(static_cast<std::uint64_t>(tally.thrown) > tries / 2);
}

}  // namespace

TEST_CASE("planner: an allocation that fails is an error or does no harm, and nothing leaks") {
  const std::uint64_t tries = kSanitized ? 40 : 400;
  check_failures("24_grid_search_5t_4r", tries);
  check_failures("26_offload_scaleup_10t_4r", tries);
  check_failures("25_dp_proposer_12t_8r_bins100", tries);
  check_failures("29_partitioner_membal_tol0_40t_8r", tries);
  check_failures("11_nofit_insufficient_2r", tries);
  check_failures("36_mid_100t_16r_2h_default", tries / 2);
  // The case has so many tables that both threads enumerate options and allocate memory.
  check_failures("41_big_1000t_16r_tw_only", tries / 4);
}

TEST_CASE("planner: an allocation that fails in a task of another thread reaches the caller") {
  TbbExecutor executor(kThreads);
  const std::thread::id caller = std::this_thread::get_id();
  int failures = 0;
  // On an overloaded machine, oneTBB's threads may take a second to start.
  for (int round = 0; round < 100 && failures < 20; ++round) {
    std::atomic<int> arrived{0};
    std::atomic<bool> elsewhere{false};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    const auto body = [&](unsigned, std::size_t, std::size_t) {
      ++arrived;
      // Keeps this thread busy, so that another thread takes the other range.
      while (arrived < kThreads && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
      if (std::this_thread::get_id() == caller) return;
      elsewhere = true;
      const FailingAllocation failing(1);
      keep(std::make_unique<int>(1));
    };
    const AllocationScope scope;
    bool thrown = false;
    try {
      executor.parallel_for(kThreads, 1, body);
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    const std::int64_t left = scope.live_bytes();
    CHECK(left == 0);
    CHECK(thrown == elsewhere);
    failures += thrown ? 1 : 0;
  }
  // A machine with one core may never start a second thread.
  if (std::thread::hardware_concurrency() > 1) CHECK(failures > 0);
}

TEST_CASE("planner: an exception of a progress callback leaks no memory") {
  const ProblemPtr problem = load("36_mid_100t_16r_2h_default");
  plan(problem);
  for (int calls_before = 0; calls_before < 3; ++calls_before) {
    const AllocationScope scope;
    bool thrown = false;
    {
      PlanOptions options;
      options.mode = PlanMode::kCompat;
      options.threads = kThreads;
      int calls = 0;
      options.on_progress = [&](const PlanProgress&) {
        if (calls++ == calls_before) throw std::runtime_error("from the callback");
      };
      try {
        keep(plan_embedding(problem, options));
      } catch (const std::runtime_error&) {
        thrown = true;
      }
    }
    const std::int64_t left = scope.live_bytes();
    CHECK(thrown);
    CHECK(left == 0);
  }
}

}  // namespace shardwright::planner_fault_test
