// Planners that are stopped, run at the same time, or run inside the tasks of the host program.
#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#ifndef SHARDWRIGHT_PLAIN_THREADS
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#endif

#include "core/embedding/ranks_sha1.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/random.h"
#include "tests/support/sanitized.h"

namespace shardwright::planner_stress_test {

namespace {

using namespace shardwright;
using test_support::kSanitized;
using test_support::Random;
using test_support::seeds;
using Clock = std::chrono::steady_clock;
using ProblemPtr = std::shared_ptr<const embedding::Problem>;

const std::string kCases = "tests/golden/embedding/cases/";
const std::string kWorkloads = "tests/golden/workloads/";

// Enumerating takes some 10 ms, and all proposals take a second or more. A stop within the first 30
// ms hits either stage.
const std::string kLong = kWorkloads + "ads_bootstrap_1000t.json.gz";
// All proposals take some 30 ms.
const std::string kShort = kCases + "36_mid_100t_16r_2h_default.json.gz";

// The documented limit is 20 ms. Builds with sanitizers get more time.
constexpr double kPromisedMs = kSanitized ? 100 : 20;
constexpr int kThreads = 2;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

ProblemPtr load(const std::string& path) {
  return std::make_shared<const embedding::Problem>(
      require(embedding::Problem::make(require(read_problem(require(read_file(path)))))));
}

double ms_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::milli>(end - begin).count();
}

std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

// A traced search that ran to its end, or further than any stopped search of these tests.
class FullSearch {
 public:
  explicit FullSearch(const ProblemPtr& problem) {
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    // Several times the work that two threads do in 50 ms, the time of the longest stopped search.
    options.work_limit = 300'000'000;
    options.threads = kThreads;
    options.trace = true;
    result_ = require(plan_embedding(problem, options));
    REQUIRE(result_.plan.has_value());
    for (const embedding::ProposalRecord& record : result_.trace->proposals) {
      if (record.rating) ratings_.insert(bits(*record.rating));
    }
  }

  // Checks that `stopped` is a state that this search passes: no plan, or a valid plan with the
  // rating of one of its proposals.
  void check(const EmbeddingPlanResult& stopped) const {
    CHECK(!stopped.failure.has_value());
    CHECK(stopped.num_proposals <= result_.num_proposals);
    CHECK(stopped.num_plans <= result_.num_plans);
    CHECK(stopped.plan.has_value() == (stopped.num_plans > 0));
    CHECK(stopped.best_rating.has_value() == stopped.plan.has_value());
    if (stopped.stopped_by == StopReason::kFinished) {
      CHECK(stopped.num_proposals == result_.num_proposals);
      CHECK(stopped.best_rating == result_.best_rating);
    }
    if (!stopped.plan) return;
    CHECK(stopped.evaluation.valid());
    CHECK(bits(stopped.evaluation.rating) == bits(*stopped.best_rating));
    CHECK(*stopped.best_rating >= *result_.best_rating);
    CHECK(ratings_.count(bits(*stopped.best_rating)) == 1);
    if (stopped.trace) check_prefix(stopped);
  }

 private:
  // Checks that the trace of `stopped` is a prefix of the full trace, and that its plan is the best
  // of the prefix.
  void check_prefix(const EmbeddingPlanResult& stopped) const {
    const auto& own = stopped.trace->proposals;
    const auto& all = result_.trace->proposals;
    REQUIRE(own.size() <= all.size());
    std::size_t differing = 0;
    std::optional<double> best;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].proposer != all[i].proposer || own[i].changes != all[i].changes ||
          own[i].rating != all[i].rating || own[i].ranks_sha1 != all[i].ranks_sha1) {
        ++differing;
      }
      if (own[i].rating) best = std::min(best.value_or(*own[i].rating), *own[i].rating);
    }
    CHECK(differing == 0);
    CHECK(best == stopped.best_rating);
  }

  EmbeddingPlanResult result_;
  std::set<std::uint64_t> ratings_;
};

// Requests a stop after `delay`, from its own thread.
class DelayedStop {
 public:
  explicit DelayedStop(std::chrono::microseconds delay)
      : thread_([this, delay] {
          std::this_thread::sleep_for(delay);
          requested_at_ = Clock::now();
          source_.request_stop();
        }) {}

  std::stop_token token() const { return source_.get_token(); }
  // Waits for the request and returns its time.
  Clock::time_point requested_at() {
    thread_.join();
    return requested_at_;
  }

 private:
  std::stop_source source_;
  Clock::time_point requested_at_;
  std::jthread thread_;  // after the members that the thread uses
};

// Times in ms from the request of a stop to the end of the search.
class Delays {
 public:
  void add(double ms) { delays_.push_back(ms); }
  std::size_t size() const { return delays_.size(); }

  // Checks the median, since a loaded machine delays single runs by whole time slices.
  void check(const std::string& what) {
    REQUIRE(!delays_.empty());
    std::sort(delays_.begin(), delays_.end());
    const double median = delays_[delays_.size() / 2];
    MESSAGE(what, ": ", delays_.size(), " times, ms late: median ", median, ", nine in ten below ",
            delays_[delays_.size() * 9 / 10], ", at most ", delays_.back());
    CHECK(median <= kPromisedMs);
  }

 private:
  std::vector<double> delays_;
};

struct Cancellation {
  std::string problem;
  bool trace;
  int repetitions;
};

// Returns the time of a search in microseconds, at most 30 ms. Tests stop their searches within
// this time.
std::uint64_t whole_search_us(const ProblemPtr& problem, PlanOptions options) {
  constexpr double kLongest = 0.030;
  options.time_limit_s = kLongest;
  const Clock::time_point begin = Clock::now();
  require(plan_embedding(problem, options));
  const double us = ms_between(begin, Clock::now()) * 1000;
  return static_cast<std::uint64_t>(std::min(us, kLongest * 1e6));
}

void check_cancellation(const Cancellation& test, std::uint64_t seed) {
  INFO(test.problem, ", trace ", test.trace, ", SHARDWRIGHT_TEST_SEED=", seed);
  const ProblemPtr problem = load(test.problem);
  const FullSearch full(problem);
  Random random(seed);
  Delays delays;
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = kThreads;
  options.trace = test.trace;
  const std::uint64_t longest_us = whole_search_us(problem, options);
  for (int i = 0; i < test.repetitions; ++i) {
    DelayedStop stop(std::chrono::microseconds(random.below(longest_us + 1)));
    options.stop = stop.token();
    const EmbeddingPlanResult result = require(plan_embedding(problem, options));
    const Clock::time_point returned_at = Clock::now();
    const Clock::time_point requested_at = stop.requested_at();
    CHECK((result.stopped_by == StopReason::kCancelled ||
           result.stopped_by == StopReason::kFinished));
    if (result.stopped_by != StopReason::kFinished)
      delays.add(ms_between(requested_at, returned_at));
    full.check(result);
  }
  CHECK(delays.size() >= static_cast<std::size_t>(test.repetitions) / 4);
  delays.check("cancelled " + test.problem);
}

// The figures that identify an answer.
struct Answer {
  std::uint64_t num_proposals = 0;
  std::uint64_t num_plans = 0;
  std::uint64_t rating_bits = 0;
  std::string ranks_sha1;
  std::string failure;

  bool operator==(const Answer&) const = default;
};

Answer answer(const ProblemPtr& problem, int threads) {
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.threads = threads;
  const auto result = plan_embedding(problem, options);
  if (!result.ok()) {
    Answer failed;
    failed.failure = result.error().to_string();
    return failed;
  }
  return {result->num_proposals, result->num_plans, bits(result->best_rating.value_or(-1)),
          result->plan ? embedding::ranks_sha1(*result->plan) : "",
          result->failure ? result->failure->message : ""};
}

// Eight problems and the answers of planners with one thread.
struct Workbench {
  std::vector<ProblemPtr> problems;
  std::vector<Answer> expected;

  Workbench() {
    for (const char* name : {"07_grid_shard_4hosts_32r", "11_nofit_insufficient_2r",
                             "24_grid_search_5t_4r", "25_dp_proposer_12t_8r_bins100",
                             "26_offload_scaleup_10t_4r", "29_partitioner_membal_tol0_40t_8r",
                             "36_mid_100t_16r_2h_default", "41_big_1000t_16r_tw_only"}) {
      problems.push_back(load(kCases + name + ".json.gz"));
      expected.push_back(answer(problems.back(), 1));
    }
  }
};

}  // namespace

TEST_CASE("planner: a stop requested at any time gives a plan that the search had found by then") {
  for (const std::uint64_t seed : seeds({301})) {
    check_cancellation({kLong, false, kSanitized ? 20 : 120}, seed);
    check_cancellation({kShort, false, kSanitized ? 20 : 100}, seed);
    check_cancellation({kShort, true, kSanitized ? 20 : 100}, seed);
  }
}

TEST_CASE("planner: a stop requested beforehand ends the planning at once") {
  std::stop_source source;
  source.request_stop();
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.stop = source.get_token();
  const EmbeddingPlanResult result = require(plan_embedding(load(kShort), options));
  CHECK(result.stopped_by == StopReason::kCancelled);
  CHECK(!result.plan.has_value());
  CHECK(!result.failure.has_value());
  CHECK(result.num_proposals == 0);
}

TEST_CASE("planner: a time limit is overrun by little") {
  const ProblemPtr problem = load(kLong);
  const FullSearch full(problem);
  for (const double limit_ms : {5.0, 20.0, 50.0}) {
    Delays delays;
    for (int i = 0; i < (kSanitized ? 5 : 30); ++i) {
      PlanOptions options;
      options.mode = PlanMode::kCompat;
      options.threads = kThreads;
      options.time_limit_s = limit_ms / 1000;
      const Clock::time_point begin = Clock::now();
      const EmbeddingPlanResult result = require(plan_embedding(problem, options));
      delays.add(ms_between(begin, Clock::now()) - limit_ms);
      CHECK(result.stopped_by == StopReason::kTimeLimit);
      full.check(result);
    }
    delays.check("limit of " + std::to_string(static_cast<int>(limit_ms)) + " ms");
  }
}

TEST_CASE("planner: eight at the same time give the same answers as one") {
  const Workbench bench;
  for (int round = 0; round < (kSanitized ? 1 : 5); ++round) {
    std::vector<Answer> answers(bench.problems.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < answers.size(); ++i) {
        threads.emplace_back(
            [&, i] { answers[i] = answer(bench.problems[i], static_cast<int>(1 + i % 3)); });
      }
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      INFO(bench.problems[i]->spec().name);
      CHECK(answers[i] == bench.expected[i]);
    }
  }
}

TEST_CASE("planner: stopping one does not affect the others") {
  const Workbench bench;
  const ProblemPtr problem = load(kLong);
  std::atomic<bool> done{false};
  std::size_t stopped = 0;
  std::jthread neighbour([&] {
    Random random(302);
    while (!done) {
      DelayedStop stop(std::chrono::microseconds(random.below(20'000)));
      PlanOptions options;
      options.mode = PlanMode::kCompat;
      options.threads = kThreads;
      options.stop = stop.token();
      const auto result = plan_embedding(problem, options);
      if (result.ok() && result->stopped_by == StopReason::kCancelled) ++stopped;
    }
  });
  std::vector<Answer> answers;
  for (int round = 0; round < (kSanitized ? 1 : 3); ++round) {
    for (const ProblemPtr& own : bench.problems)
      answers.push_back(answer(own, kThreads));
  }
  done = true;
  neighbour.join();
  CHECK(stopped > 0);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CHECK(answers[i] == bench.expected[i % bench.expected.size()]);
  }
}

// ThreadSanitizer cannot analyse the library of oneTBB.
#ifndef SHARDWRIGHT_PLAIN_THREADS
TEST_CASE("planner: planning inside tasks of the host's own TBB gives the same answers") {
  const Workbench bench;
  const std::size_t rounds = kSanitized ? 1 : 5;
  std::vector<Answer> answers(bench.problems.size() * rounds);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, answers.size(), 1),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      for (std::size_t i = range.begin(); i < range.end(); ++i) {
                        answers[i] = answer(bench.problems[i % bench.problems.size()], kThreads);
                      }
                    });
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CHECK(answers[i] == bench.expected[i % bench.expected.size()]);
  }
}
#endif

TEST_CASE("planner: progress is reported on the calling thread and never decreases") {
  for (const std::string& path : {kShort, kCases + "25_dp_proposer_12t_8r_bins100.json.gz",
                                  kCases + "26_offload_scaleup_10t_4r.json.gz",
                                  kCases + "27_greedy_threshold_earlystop_8r.json.gz"}) {
    INFO(path);
    std::vector<PlanProgress> seen;
    std::size_t elsewhere = 0;
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    options.threads = kThreads;
    const std::thread::id here = std::this_thread::get_id();
    options.on_progress = [&](const PlanProgress& progress) {
      seen.push_back(progress);
      if (std::this_thread::get_id() != here) ++elsewhere;
    };
    const EmbeddingPlanResult result = require(plan_embedding(load(path), options));
    CHECK(elsewhere == 0);
    REQUIRE(!seen.empty());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      CHECK(seen[i].proposals <= seen[i].proposals_at_most);
      CHECK(seen[i].plans <= seen[i].proposals);
      CHECK(seen[i].best_rating.has_value() == (seen[i].plans > 0));
      if (i == 0) continue;
      const PlanProgress& before = seen[i - 1];
      CHECK(seen[i].proposals >= before.proposals);
      CHECK(seen[i].plans >= before.plans);
      CHECK(seen[i].work_steps >= before.work_steps);
      CHECK(seen[i].elapsed_s >= before.elapsed_s);
      if (before.best_rating) CHECK(*seen[i].best_rating <= *before.best_rating);
    }
    CHECK(seen.back().proposals == result.num_proposals);
    CHECK(seen.back().plans == result.num_plans);
    CHECK(seen.back().best_rating == result.best_rating);
    CHECK(seen.back().work_steps == result.work.work_steps);
  }
}

TEST_CASE("planner: a progress callback that requests the stop ends the search after its batch") {
  const ProblemPtr problem = load(kShort);
  std::stop_source source;
  int calls = 0;
  PlanOptions options;
  options.mode = PlanMode::kCompat;
  options.stop = source.get_token();
  options.on_progress = [&](const PlanProgress&) {
    ++calls;
    source.request_stop();
  };
  const EmbeddingPlanResult result = require(plan_embedding(problem, options));
  CHECK(calls == 1);
  CHECK(result.stopped_by == StopReason::kCancelled);
  CHECK(result.evaluation.valid());
  REQUIRE(result.plan.has_value());
}

TEST_CASE("planner: an exception of a progress callback reaches the caller, and nothing is kept") {
  ProblemPtr problem = load(kShort);
  const Answer expected = answer(problem, 1);
  for (int calls_before = 0; calls_before < 3; ++calls_before) {
    int calls = 0;
    PlanOptions options;
    options.mode = PlanMode::kCompat;
    options.threads = kThreads;
    options.on_progress = [&](const PlanProgress&) {
      if (calls++ == calls_before) throw std::runtime_error("from the callback");
    };
    CHECK_THROWS_WITH_AS(plan_embedding(problem, options).ok(), "from the callback",
                         std::runtime_error);
    CHECK(calls == calls_before + 1);
  }
  CHECK(answer(problem, kThreads) == expected);
  const std::weak_ptr<const embedding::Problem> watch = problem;
  problem.reset();
  CHECK(watch.expired());
}

}  // namespace shardwright::planner_stress_test
