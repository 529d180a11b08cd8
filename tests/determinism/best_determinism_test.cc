// With a work limit, best mode writes the same bytes on any number of threads.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "runtime/io/embedding/problem_json.h"
#include "runtime/io/file.h"
#include "tests/support/sanitized.h"

namespace shardwright::best_determinism_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::kSanitized;

constexpr int kThreads[] = {1, 2, 3};
constexpr std::uint64_t kWork = kSanitized ? 2'000'000 : 8'000'000;

ProblemSpec golden_spec(const std::string& name) {
  auto spec = read_problem(*read_file("tests/golden/embedding/cases/" + name + ".json.gz"));
  REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
  return std::move(spec).value();
}

std::shared_ptr<const Problem> problem_of(ProblemSpec spec) {
  auto problem = Problem::make(std::move(spec));
  REQUIRE_MESSAGE(problem.ok(), problem.error().to_string());
  return std::make_shared<const Problem>(std::move(problem).value());
}

EmbeddingPlanResult planned(const std::shared_ptr<const Problem>& problem, int threads,
                            std::uint64_t seed = 0) {
  PlanOptions options;
  options.threads = threads;
  options.work_limit = kWork;
  options.seed = seed;
  auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  REQUIRE(result->plan.has_value());
  return std::move(result).value();
}

// Returns the plan's JSON without times and the number of threads.
std::string lasting_json(const Problem& problem, EmbeddingPlanResult result) {
  result.timing = {};
  result.threads = 1;
  std::string text;
  write_plan(problem, result, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

void check_threads(const std::shared_ptr<const Problem>& problem) {
  const std::string expected = lasting_json(*problem, planned(problem, kThreads[0]));
  CHECK(expected.find("\"improvements\"") != std::string::npos);
  for (const int threads : kThreads) {
    const std::string found = lasting_json(*problem, planned(problem, threads));
    const bool same = found == expected;
    CHECK_MESSAGE(same, threads << " threads");
  }
}

}  // namespace

TEST_CASE("determinism: best mode writes the same bytes on any number of threads") {
  for (const char* const name :
       {"09_mixed_default_20t_16r_2h", "16_sequence_and_pooled_8r", "26_offload_scaleup_10t_4r"}) {
    INFO(std::string(name));
    check_threads(problem_of(golden_spec(name)));
  }
}

TEST_CASE("determinism: so does best mode with rules and uneven memory") {
  ProblemSpec spec = golden_spec("30_custom_topology_uneven_hbm_4r");
  spec.tables[0].placement.ranks = std::vector<std::int64_t>{0, 1, 2};
  TableGroup apart;
  apart.tables = {spec.tables[1].name, spec.tables[2].name};
  spec.keep_apart.push_back(apart);
  const auto problem = problem_of(std::move(spec));
  REQUIRE(problem->rules().any());
  check_threads(problem);
}

TEST_CASE("determinism: every seed of best mode gives a valid plan whose bound is proved") {
  const auto problem = problem_of(golden_spec("16_sequence_and_pooled_8r"));
  const double rating = *planned(problem, 1).best_rating;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    const EmbeddingPlanResult result = planned(problem, 2, seed);
    CHECK(result.evaluation.valid());
    CHECK(*result.best_rating == doctest::Approx(rating).epsilon(1e-2));
    REQUIRE(result.certificate.has_value());
    CHECK(*result.lower_bound <= rating);
    CHECK(check_bound(*result.search_space, result.reservation->topology, *result.certificate)
              .value_or("") == "");
  }
}

}  // namespace shardwright::best_determinism_test
