// Best mode of several processes finds what one process finds, and ends when one of them leaves.
#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/embedding/evaluation/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/execution/processes/thread_exchange.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/sanitized.h"

namespace shardwright::process_determinism_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;

constexpr std::uint64_t kWork = test_support::kSanitized ? 2'000'000 : 30'000'000;
// More than the searches need that lose their exchange.
constexpr std::uint64_t kAmpleWork = 30'000'000;
constexpr const char* kHard = "09_mixed_default_20t_16r_2h";

std::shared_ptr<const Problem> golden_problem(const std::string& name) {
  auto spec = read_problem(*read_file("tests/golden/embedding/cases/" + name + ".json.gz"));
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  auto problem = Problem::make(std::move(spec).value());
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(std::move(problem).value());
}

PlanOptions options_of(Exchange* exchange, std::optional<std::uint64_t> work) {
  PlanOptions options;
  options.threads = 1;
  options.work_limit = work;
  options.exchange = exchange;
  return options;
}

// Fails in all processes at once, as a broken network does.
class FailingExchange final : public Exchange {
 public:
  FailingExchange(ThreadExchange& exchange, std::size_t messages)
      : exchange_(&exchange), left_(messages) {}

  std::uint32_t processes() const override { return exchange_->processes(); }
  std::uint32_t process() const override { return exchange_->process(); }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    if (left_ == 0) return std::nullopt;
    --left_;
    return exchange_->all_gather(message);
  }

 private:
  ThreadExchange* exchange_;
  std::size_t left_;
};

// How many exchanges every process has come to.
// Thread safety: any number of threads.
class Arrivals {
 public:
  explicit Arrivals(std::size_t processes) : count_(processes) {}

  void note(std::uint32_t process) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_[process];
    changed_.notify_all();
  }
  // Waits until all processes but `slow` have come to exchange `number`, which needs nothing from
  // it.
  void await_others(std::uint32_t slow, std::size_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] {
      for (std::size_t process = 0; process < count_.size(); ++process) {
        if (process != slow && count_[process] < number) return false;
      }
      return true;
    });
    for (const std::size_t count : count_)
      most_ahead_ = std::max(most_ahead_, count - count_[slow]);
  }
  // By how many exchanges others were ahead of the slow process when all waited for it.
  std::size_t most_waited_for() const { return most_ahead_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> count_;
  std::size_t most_ahead_ = 0;
};

// Process 2 comes to each exchange from a certain one on as the last one.
class SlowExchange final : public Exchange {
 public:
  SlowExchange(ThreadExchange& exchange, Arrivals& arrivals, std::size_t slow_from)
      : exchange_(&exchange), arrivals_(&arrivals), slow_from_(slow_from) {}

  std::uint32_t processes() const override { return exchange_->processes(); }
  std::uint32_t process() const override { return exchange_->process(); }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    ++number_;
    if (process() == 2 && number_ >= slow_from_) arrivals_->await_others(2, number_);
    arrivals_->note(process());
    return exchange_->all_gather(message);
  }

 private:
  ThreadExchange* exchange_;
  Arrivals* arrivals_;
  std::size_t slow_from_;
  std::size_t number_ = 0;
};

std::string lasting_json(const Problem& problem, EmbeddingPlanResult result) {
  result.timing = {};
  std::string text;
  write_plan(problem, result, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::vector<Rank> ranks_of(const Plan& plan) {
  std::vector<Rank> ranks;
  for (std::size_t table = 0; table < plan.size(); ++table) {
    for (std::uint32_t shard = 0; shard < plan[table].option->num_shards(); ++shard)
      ranks.push_back(plan[table].rank(shard));
  }
  return ranks;
}

}  // namespace

TEST_CASE("determinism: any number of processes writes the bytes of one") {
  for (const char* const name : {kHard, "16_sequence_and_pooled_8r", "26_offload_scaleup_10t_4r",
                                 "30_custom_topology_uneven_hbm_4r"}) {
    INFO(std::string(name));
    const auto problem = golden_problem(name);
    const auto alone = plan_embedding(problem, options_of(nullptr, kWork));
    REQUIRE(alone.ok());
    REQUIRE(alone->plan.has_value());
    const std::string expected = lasting_json(*problem, *alone);
    for (const std::uint32_t processes : {1U, 2U, 4U}) {
      CAPTURE(processes);
      const auto answers = run_processes(processes, [&](ThreadExchange& exchange) {
        return plan_embedding(problem, options_of(&exchange, kWork));
      });
      REQUIRE(answers[0].ok());
      const bool same = lasting_json(*problem, *answers[0]) == expected;
      CHECK(same);
      for (const auto& answer : answers) {
        REQUIRE(answer.ok());
        REQUIRE(answer->plan.has_value());
        CHECK(*answer->best_rating == *alone->best_rating);
        CHECK(ranks_of(*answer->plan) == ranks_of(*alone->plan));
        CHECK(answer->work.work_steps == alone->work.work_steps);
        CHECK(answer->work.exchange.most_bytes < 100'000);
        CHECK((answer->work.exchange.rounds > 1) == (processes > 1));
      }
    }
  }
}

TEST_CASE("determinism: lanes decide what is found, and processes with threads where") {
  const auto problem = golden_problem(kHard);
  std::vector<std::string> found;
  for (const std::uint32_t lanes : {3U, 8U, 128U}) {
    CAPTURE(lanes);
    const auto answer_of = [&](Exchange* exchange, int threads) {
      PlanOptions options = options_of(exchange, kWork / 4);
      options.lanes = lanes;
      options.threads = threads;
      auto result = plan_embedding(problem, options);
      REQUIRE(result.ok());
      EmbeddingPlanResult found_here = std::move(result).value();
      found_here.threads = 1;
      return lasting_json(*problem, std::move(found_here));
    };
    found.push_back(answer_of(nullptr, 1));
    for (const auto& [processes, threads] : {std::pair(2U, 2), std::pair(4U, 1)}) {
      const auto answers = run_processes(processes, [&, n = threads](ThreadExchange& exchange) {
        return answer_of(&exchange, n);
      });
      const bool same = answers[0] == found.back();
      CHECK(same);
    }
  }
  CHECK(found[0] != found[1]);
  CHECK(found[1] != found[2]);
}

TEST_CASE("determinism: compat mode of any number of processes writes the bytes of one") {
  // Enumerated proposals, a proposer that waits for feedback, one that adds options.
  for (const char* const name : {kHard, "16_sequence_and_pooled_8r", "26_offload_scaleup_10t_4r"}) {
    for (const bool trace : {true, false}) {
      INFO(std::string(name));
      CAPTURE(trace);
      const std::optional<std::uint64_t> work =
          trace ? std::nullopt : std::optional<std::uint64_t>(20'000);
      const auto problem = golden_problem(name);
      const auto answer_of = [&](Exchange* exchange) {
        PlanOptions options = options_of(exchange, work);
        options.mode = PlanMode::kCompat;
        options.trace = trace;
        return plan_embedding(problem, options);
      };
      const auto alone = answer_of(nullptr);
      REQUIRE(alone.ok());
      const std::string expected = lasting_json(*problem, *alone);
      for (const std::uint32_t processes : {2U, 3U, 4U}) {
        CAPTURE(processes);
        const auto answers = run_processes(
            processes, [&](ThreadExchange& exchange) { return answer_of(&exchange); });
        for (const auto& answer : answers) {
          REQUIRE(answer.ok());
          const bool same = lasting_json(*problem, *answer) == expected;
          CHECK(same);
          // The scale-up waits for feedback, so its batches are too short to share.
          CHECK((answer->work.exchange.rounds > 1 || std::string(name) != kHard));
          CHECK(answer->work.exchange.most_bytes < 100'000);
        }
      }
    }
  }
}

TEST_CASE(
    "determinism: compat mode ends in all processes if one is stopped or has another problem") {
  const auto problem = golden_problem(kHard);
  const auto other = golden_problem("16_sequence_and_pooled_8r");
  const auto stopped = run_processes(2, [&](ThreadExchange& exchange) {
    PlanOptions options = options_of(&exchange, std::nullopt);
    options.mode = PlanMode::kCompat;
    std::stop_source stop;
    options.stop = stop.get_token();
    if (exchange.process() == 1)
      options.on_progress = [&](const PlanProgress&) { stop.request_stop(); };
    return plan_embedding(problem, options);
  });
  for (const auto& answer : stopped) {
    REQUIRE(answer.ok());
    CHECK(answer->stopped_by == StopReason::kCancelled);
  }
  const auto refused = run_processes(2, [&](ThreadExchange& exchange) {
    PlanOptions options = options_of(&exchange, std::nullopt);
    options.mode = PlanMode::kCompat;
    return plan_embedding(exchange.process() == 0 ? problem : other, options);
  });
  for (const auto& answer : refused) {
    REQUIRE(!answer.ok());
    CHECK(answer.error().where == "exchange");
  }
}

TEST_CASE("determinism: a stop in one process ends the search of all") {
  const auto problem = golden_problem(kHard);
  const auto answers = run_processes(3, [&](ThreadExchange& exchange) {
    PlanOptions options = options_of(&exchange, std::nullopt);
    options.time_limit_s = 300;
    std::stop_source stop;
    options.stop = stop.get_token();
    if (exchange.process() == 2) {
      options.on_better_plan = [&](const Plan&) { stop.request_stop(); };
    }
    return plan_embedding(problem, options);
  });
  for (const auto& answer : answers) {
    REQUIRE(answer.ok());
    CHECK(answer->plan.has_value());
    CHECK(answer->evaluation.valid());
    CHECK(answer->stopped_by == StopReason::kCancelled);
  }
}

TEST_CASE("determinism: process 0 searches alone if another never begins") {
  const auto problem = golden_problem("16_sequence_and_pooled_8r");
  const auto alone = plan_embedding(problem, options_of(nullptr, kWork));
  const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
    PlanOptions options = options_of(&exchange, kWork);
    if (exchange.process() == 1) options.threads = -1;  // refused
    return plan_embedding(problem, options);
  });
  CHECK(!answers[1].ok());
  REQUIRE(answers[0].ok());
  const bool same = lasting_json(*problem, *answers[0]) == lasting_json(*problem, *alone);
  CHECK(same);
}

TEST_CASE("determinism: processes with different problems, seeds, lanes or limits are told so") {
  const auto one = golden_problem("16_sequence_and_pooled_8r");
  const auto other = golden_problem(kHard);
  enum class Differs { kProblem, kSeed, kLanes, kLimit };
  for (const Differs what : {Differs::kProblem, Differs::kSeed, Differs::kLanes, Differs::kLimit}) {
    CAPTURE(static_cast<int>(what));
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      PlanOptions options = options_of(&exchange, kWork);
      const bool differs = exchange.process() == 1;
      if (differs && what == Differs::kSeed) options.seed = 7;
      if (differs && what == Differs::kLanes) options.lanes = 16;
      if (differs && what == Differs::kLimit) *options.work_limit += 1;
      return plan_embedding(differs && what == Differs::kProblem ? other : one, options);
    });
    for (const auto& answer : answers) {
      REQUIRE(!answer.ok());
      CHECK(answer.error().code == ErrorCode::kInvalidInput);
      CHECK(answer.error().where == "exchange");
    }
  }
}

TEST_CASE("determinism: processes with different placement rules are told so") {
  const std::string path = "tests/golden/embedding/cases/16_sequence_and_pooled_8r.json.gz";
  const auto spec = read_problem(*read_file(path));
  REQUIRE(spec.ok());
  const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
    ProblemSpec own = *spec;
    if (exchange.process() == 1) own.tables[0].placement.ranks = std::vector<std::int64_t>{0, 1, 2};
    if (exchange.process() == 0) own.tables[0].placement.ranks = std::vector<std::int64_t>{0, 1, 3};
    return plan_embedding(std::make_shared<const Problem>(*Problem::make(std::move(own))),
                          options_of(&exchange, kWork));
  });
  for (const auto& answer : answers) {
    REQUIRE(!answer.ok());
    CHECK(answer.error().where == "exchange");
  }
}

TEST_CASE("determinism: a slow process holds others up by its round, and by no more") {
  constexpr std::size_t kSlowFrom = 4;  // the exchange before which it is slow
  const auto problem = golden_problem(kHard);
  const auto alone = plan_embedding(problem, options_of(nullptr, kWork));
  REQUIRE(alone.ok());
  Arrivals arrivals(3);
  const auto answers = run_processes(3, [&](ThreadExchange& exchange) {
    SlowExchange slow(exchange, arrivals, kSlowFrom);
    return plan_embedding(problem, options_of(&slow, kWork));
  });
  CHECK(arrivals.most_waited_for() == 1);
  const bool same = lasting_json(*problem, *answers[0]) == lasting_json(*problem, *alone);
  CHECK(same);
}

TEST_CASE("determinism: an exchange that fails leaves every process its best plan") {
  const auto problem = golden_problem(kHard);
  for (const std::size_t messages : {0U, 1U, 4U}) {
    CAPTURE(messages);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      FailingExchange failing(exchange, messages);
      return plan_embedding(problem, options_of(&failing, messages == 0 ? kWork : kAmpleWork));
    });
    for (const auto& answer : answers) {
      REQUIRE(answer.ok());
      CHECK(answer->plan.has_value());
      CHECK(answer->evaluation.valid());
    }
    if (messages > 0) CHECK(answers[0]->stopped_by == StopReason::kCancelled);
  }
}

}  // namespace shardwright::process_determinism_test
