// Best mode of several processes finds what one process finds, and ends when one of them leaves.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/embedding/evaluation/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/problem/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/sanitized.h"
#include "tests/support/thread_exchange.h"

namespace shardwright::process_determinism_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using test_support::run_processes;
using test_support::ThreadExchange;

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
        auto result = plan_embedding(problem, options_of(&exchange, kWork));
        CHECK(exchange.most_bytes() < 100'000);
        return result;
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
      }
    }
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

TEST_CASE("determinism: processes with different problems or seeds are told so") {
  const auto one = golden_problem("16_sequence_and_pooled_8r");
  const auto other = golden_problem(kHard);
  for (const bool same_problem : {true, false}) {
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      PlanOptions options = options_of(&exchange, kWork);
      const bool differs = exchange.process() == 1;
      if (differs && same_problem) options.seed = 7;
      return plan_embedding(differs && !same_problem ? other : one, options);
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

TEST_CASE("determinism: an exchange that fails leaves every process its best plan") {
  const auto problem = golden_problem(kHard);
  for (const std::size_t messages : {0U, 1U, 4U}) {
    CAPTURE(messages);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      exchange.fail_after(messages);
      return plan_embedding(problem, options_of(&exchange, messages == 0 ? kWork : kAmpleWork));
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
