// The load factors that best mode chooses, compared with all plans over the same load factors.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "core/embedding/load_factors.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/problem_json.h"
#include "tests/support/embedding/every_plan.h"
#include "tests/support/random.h"

namespace shardwright::load_factors_property_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using nlohmann::json;

json random_cache(Random& random, std::size_t rows) {
  json cache = {{"load_factor", 0.05 * static_cast<double>(1 + random.below(6))}};
  if (random.below(2) == 0) cache["prefetch_pipeline"] = true;
  if (random.below(2) == 0) {
    json hits = json::array();
    for (int bin = 0; bin < 5; ++bin)
      hits.push_back(random.below(50));
    cache["stats"] = {{"cacheability", 0.2},
                      {"expected_lookups", 500 + random.below(2000)},
                      {"mrc_hist_counts", hits},
                      {"height", rows}};
  }
  if (random.below(3) == 0) {
    cache["load_factors"] = "ladder";
  } else if (random.below(2) == 0) {
    cache["load_factors"] = {0.5, 0.125, 1.0, 0.125};
  }
  return cache;
}

// Two or three cached tables on two ranks. The memory holds some of them.
json random_problem(Random& random) {
  json problem = {{"reservation", {{"type", "none"}}},
                  {"batch_size", 1 + random.below(64)},
                  {"topology",
                   {{"world_size", 2},
                    {"hbm_cap", 50'000 + 50'000 * random.below(30)},
                    {"ddr_cap", 4'000'000}}}};
  const std::size_t tables = 2 + random.below(2);
  for (std::size_t i = 0; i < tables; ++i) {
    const std::string name = "t" + std::to_string(i);
    const std::size_t rows = 700 + 150 * random.below(12);
    problem["tables"].push_back(
        {{"name", name}, {"num_embeddings", rows}, {"embedding_dim", 64 << random.below(2)}});
    json& constraints = problem["constraints"][name];
    constraints = {{"sharding_types", {random.below(2) == 0 ? "table_wise" : "row_wise"}},
                   {"compute_kernels", {"fused_uvm_caching"}},
                   {"cache_params", random_cache(random, rows)}};
  }
  if (random.below(2) == 0) problem["proposers"] = {{{"type", "greedy"}}, {{"type", "scaleup"}}};
  return problem;
}

double least_rating(const std::shared_ptr<const SearchSpace>& space, const Topology& available) {
  double least = std::numeric_limits<double>::infinity();
  EveryPlan(space, [&](const Plan& plan) {
    const Evaluation evaluation = evaluate(space->problem(), available, plan);
    if (evaluation.valid()) least = std::min(least, evaluation.rating);
    return false;
  }).run();
  return least;
}

struct Counts {
  int chosen = 0;   // problems in which best mode may choose load factors
  int gained = 0;   // of these: its plan is better than any with the constraints' load factors
  int proved = 0;   // of these: its plan is proved optimal over the set
  int outside = 0;  // of these: compat mode's plan is better, with a load factor outside the set
};

// Compares the answer with all plans over the set of load factors. Checks that the proof covers the
// whole set.
void check(const std::shared_ptr<const Problem>& problem, Counts& counts) {
  const auto declared = enumerate_embedding(problem).value();
  const auto space = best_mode_options(declared).value();
  if (number_of_plans(*space) > 30'000) return;
  const Topology available = reserve_embedding(*problem)->topology;
  PlanOptions options;
  options.threads = 1;
  options.work_limit = 3'000'000;
  const auto result = plan_embedding(problem, options);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  const double least = least_rating(space, available);
  const bool chooses = space != declared;
  counts.chosen += chooses ? 1 : 0;
  if (!result->plan) {
    CHECK(least == std::numeric_limits<double>::infinity());
    return;
  }
  CHECK(result->evaluation.valid());
  CHECK(*result->best_rating <= least * (1 + 1e-9));
  if (!chooses) return;
  counts.gained += *result->best_rating < least_rating(declared, available) ? 1 : 0;
  if (*result->best_rating < least * (1 - 1e-9)) {
    CHECK_FALSE(result->lower_bound.has_value());
    ++counts.outside;
    return;
  }
  if (!result->certificate) return;
  counts.proved += gap(*result->best_rating, *result->lower_bound) <= kProvenGap ? 1 : 0;
  BoundCertificate certificate = *result->certificate;
  CHECK(certificate.load_factors == load_factors_to_choose(*problem));
  CHECK(check_bound(*space, available, certificate).value_or("") == "");
  CHECK(check_bound(*declared, available, certificate).has_value());
  certificate.load_factors.front().values.pop_back();
  CHECK(check_bound(*space, available, certificate).has_value());
}

}  // namespace

TEST_CASE(
    "load factors: best mode chooses the best ones of the set, and its proof covers the set") {
  Counts counts;
  for (const std::uint64_t seed : seeds({61, 62})) {
    Random random(seed);
    for (int i = 0; i < 150; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const json text = random_problem(random);
      CAPTURE(text.dump());
      const auto spec = read_problem(text.dump());
      REQUIRE_MESSAGE(spec.ok(), spec.error().to_string());
      check(std::make_shared<const Problem>(*Problem::make(*spec)), counts);
    }
  }
  CHECK(counts.chosen > 100);
  CHECK(counts.gained > 30);
  CHECK(counts.proved > 80);
  CHECK(counts.outside < counts.proved / 4);
}

}  // namespace shardwright::load_factors_property_test
