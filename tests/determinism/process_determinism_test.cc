// Several processes plan one problem, each with its own seed. All return the best of their plans.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/embedding/identity.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/sanitized.h"
#include "tests/support/thread_exchange.h"

namespace shardwright::process_determinism_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;

constexpr std::uint64_t kWork = test_support::kSanitized ? 1'000'000 : 3'000'000;
constexpr std::uint64_t kSeed = 5;
constexpr const char* kHard = "36_mid_100t_16r_2h_default";
constexpr const char* kOther = "16_sequence_and_pooled_8r";

ProblemSpec golden_spec(const std::string& name) {
  auto spec = read_problem(*read_file("tests/golden/embedding/cases/" + name + ".json.gz"));
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return std::move(spec).value();
}

std::shared_ptr<const Problem> golden_problem(const std::string& name) {
  return std::make_shared<const Problem>(*Problem::make(golden_spec(name)));
}

PlanOptions options_of(Exchange* exchange, std::uint64_t seed = kSeed) {
  PlanOptions options;
  options.threads = 1;
  options.work_limit = kWork;
  options.seed = seed;
  options.exchange = exchange;
  return options;
}

std::string lasting_json(EmbeddingPlanResult result) {
  result.timing = {};
  std::string text;
  write_plan(*result.problem, result, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string plan_of(const EmbeddingPlanResult& result) {
  return plan_hash(*result.problem, *result.plan);
}

// Returns what each process would find alone, by process.
std::vector<EmbeddingPlanResult> alone(const std::shared_ptr<const Problem>& problem,
                                       std::uint32_t processes) {
  std::vector<EmbeddingPlanResult> found;
  for (std::uint32_t process = 0; process < processes; ++process) {
    auto result = plan_embedding(problem, options_of(nullptr, kSeed + process));
    REQUIRE(result.ok());
    REQUIRE(result->plan.has_value());
    found.push_back(std::move(result).value());
  }
  return found;
}

// Returns the best plan of the first `processes` processes; of equal ones, the first.
const EmbeddingPlanResult& best_of(const std::vector<EmbeddingPlanResult>& found,
                                   std::uint32_t processes) {
  return *std::min_element(found.begin(), found.begin() + processes,
                           [](const EmbeddingPlanResult& a, const EmbeddingPlanResult& b) {
                             return *a.best_rating < *b.best_rating;
                           });
}

// The process `slow` comes late to every exchange.
class SlowExchange final : public Exchange {
 public:
  SlowExchange(ThreadExchange& exchange, std::uint32_t slow) : exchange_(&exchange), slow_(slow) {}

  std::uint32_t processes() const override { return exchange_->processes(); }
  std::uint32_t process() const override { return exchange_->process(); }
  std::optional<std::vector<std::string>> all_gather(const std::string& message) override {
    if (process() == slow_) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return exchange_->all_gather(message);
  }

 private:
  ThreadExchange* exchange_;
  std::uint32_t slow_;
};

// After `messages` exchanges, the exchange fails in all processes at once, as in a broken network.
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

}  // namespace

TEST_CASE("processes: all have the best plan of their seeds, whichever is slow") {
  std::size_t better = 0;  // problems in which the first process does not have the best plan
  for (const char* const name :
       {kHard, kOther, "26_offload_scaleup_10t_4r", "30_custom_topology_uneven_hbm_4r"}) {
    INFO(std::string(name));
    const auto problem = golden_problem(name);
    const std::vector<EmbeddingPlanResult> single = alone(problem, 4);
    for (const std::uint32_t processes : {2U, 4U}) {
      CAPTURE(processes);
      const EmbeddingPlanResult& best = best_of(single, processes);
      if (*best.best_rating < *single[0].best_rating) ++better;
      std::vector<std::string> written;
      for (const std::uint32_t slow : {0U, processes - 1}) {
        const auto answers = run_processes(processes, [&](ThreadExchange& exchange) {
          SlowExchange own(exchange, slow);
          return plan_embedding(problem, options_of(&own));
        });
        for (std::uint32_t process = 0; process < processes; ++process) {
          const auto& answer = answers[process];
          REQUIRE(answer.ok());
          CHECK(plan_of(*answer) == plan_of(best));
          CHECK(*answer->best_rating == *best.best_rating);
          CHECK(answer->lower_bound == single[process].lower_bound);
          written.push_back(lasting_json(*answer));
        }
      }
      const bool same = std::equal(written.begin(), written.begin() + processes,
                                   written.begin() + processes, written.end());
      CHECK(same);
    }
  }
  CHECK(better >= 2);
}

TEST_CASE("processes: an exchange of one process changes nothing, and compat mode is TorchRec's") {
  for (const PlanMode mode : {PlanMode::kBest, PlanMode::kCompat}) {
    for (const char* const name : {kHard, kOther, "26_offload_scaleup_10t_4r"}) {
      INFO(std::string(name));
      const auto problem = golden_problem(name);
      const auto answer_of = [&](Exchange* exchange) {
        PlanOptions options = options_of(exchange);
        options.mode = mode;
        options.trace = mode == PlanMode::kCompat;
        auto result = plan_embedding(problem, options);
        REQUIRE(result.ok());
        return lasting_json(std::move(result).value());
      };
      const std::string expected = answer_of(nullptr);
      for (const std::uint32_t processes : {1U, 3U}) {
        if (mode == PlanMode::kBest && processes > 1) continue;
        CAPTURE(processes);
        for (const std::string& answer : run_processes(
                 processes, [&](ThreadExchange& exchange) { return answer_of(&exchange); })) {
          const bool same = answer == expected;
          CHECK(same);
        }
      }
    }
  }
}

TEST_CASE("processes: those that were not given the same are told so") {
  const auto one = golden_problem(kOther);
  ProblemSpec ruled = golden_spec(kOther);
  ruled.tables[0].placement.ranks = std::vector<std::int64_t>{0, 1, 2};
  const auto rules = std::make_shared<const Problem>(*Problem::make(std::move(ruled)));
  const auto hard = golden_problem(kHard);
  enum class Differs { kProblem, kRules, kSeed, kLanes, kLimit, kMode };
  for (const Differs what : {Differs::kProblem, Differs::kRules, Differs::kSeed, Differs::kLanes,
                             Differs::kLimit, Differs::kMode}) {
    CAPTURE(static_cast<int>(what));
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      PlanOptions options = options_of(&exchange);
      if (exchange.process() == 0) return plan_embedding(one, options);
      if (what == Differs::kProblem) return plan_embedding(hard, options);
      if (what == Differs::kRules) return plan_embedding(rules, options);
      if (what == Differs::kSeed) ++options.seed;
      if (what == Differs::kLanes) options.lanes = 16;
      if (what == Differs::kLimit) ++*options.work_limit;
      if (what == Differs::kMode) options.mode = PlanMode::kCompat;
      return plan_embedding(one, options);
    });
    for (const auto& answer : answers) {
      REQUIRE(!answer.ok());
      CHECK(answer.error().code == ErrorCode::kInvalidInput);
      CHECK(answer.error().where == "exchange");
    }
  }
}

TEST_CASE("processes: an exchange that fails leaves every process its own plan") {
  const auto problem = golden_problem(kHard);
  const std::vector<EmbeddingPlanResult> single = alone(problem, 2);
  for (const std::size_t messages : {0U, 1U, 2U}) {
    CAPTURE(messages);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      FailingExchange failing(exchange, messages);
      return plan_embedding(problem, options_of(&failing));
    });
    for (std::size_t process = 0; process < 2; ++process) {
      REQUIRE(answers[process].ok());
      const EmbeddingPlanResult& expected = messages == 2 ? best_of(single, 2) : single[process];
      CHECK(plan_of(*answers[process]) == plan_of(expected));
    }
  }
}

TEST_CASE(
    "processes: one that is refused keeps nobody waiting, and one that is stopped ends alone") {
  const auto problem = golden_problem(kHard);
  const std::vector<EmbeddingPlanResult> single = alone(problem, 2);
  for (const bool refused : {true, false}) {
    CAPTURE(refused);
    const auto answers = run_processes(2, [&](ThreadExchange& exchange) {
      PlanOptions options = options_of(&exchange);
      std::stop_source stop;
      options.stop = stop.get_token();
      if (exchange.process() == 1 && refused) options.threads = -1;
      if (exchange.process() == 1 && !refused)
        options.on_better_plan = [&](const Plan&) { stop.request_stop(); };
      return plan_embedding(problem, options);
    });
    REQUIRE(answers[0].ok());
    CHECK(answers[0]->stopped_by == single[0].stopped_by);
    CHECK(*answers[0]->best_rating <= *single[0].best_rating);
    CHECK(answers[1].ok() == !refused);
    if (refused) continue;
    CHECK(answers[1]->stopped_by == StopReason::kCancelled);
    CHECK(plan_of(*answers[1]) == plan_of(*answers[0]));
  }
}

}  // namespace shardwright::process_determinism_test
