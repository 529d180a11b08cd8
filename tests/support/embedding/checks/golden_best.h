// Runs best mode on recorded cases, with TorchRec's options and costs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/evaluate.h"
#include "runtime/embedding/planner.h"
#include "runtime/io/embedding/plan_json.h"
#include "tests/support/embedding/checks/golden_bounds.h"

namespace shardwright::test_support {

inline PlanOptions with_work(std::uint64_t limit) {
  PlanOptions options;
  options.work_limit = limit;
  return options;
}

struct GoldenBest {
  EmbeddingPlanResult result;
  double torchrec = 0;  // the rating of TorchRec's plan
  double gap = 1;       // the gap that was proved
};

// Plans a recorded case. Checks that the plan is valid and no worse than TorchRec's, and that the
// certificate proves the bound.
inline GoldenBest golden_best(const std::string& name, const PlanOptions& options) {
  using namespace embedding;
  constexpr double kRounding = 1e-12;
  const std::string golden = "tests/golden/embedding/";
  const std::string answer = require(read_file(golden + "answers/" + name + ".json.gz"));
  const auto problem = std::make_shared<const Problem>(require(Problem::make(require(read_problem(
      require(read_file(golden + "cases/" + name + ".json.gz")), recorded_release())))));
  const auto space = require(read_search_space(answer, problem));
  GoldenBest best;
  best.torchrec = require(read_plan(answer)).best_rating.value();
  best.result = require(plan_embedding(problem, options, space));
  const EmbeddingPlanResult& result = best.result;
  REQUIRE(result.plan.has_value());
  const Topology& available = result.reservation->topology;
  const Evaluation evaluation = evaluate(*problem, available, *result.plan);
  CHECK(evaluation.valid());
  CHECK(evaluation.rating == *result.best_rating);
  CHECK(*result.best_rating <= best.torchrec * (1 + kRounding));
  if (!result.lower_bound) return best;
  REQUIRE(result.certificate.has_value());
  CHECK(*result.lower_bound <= result.certificate->bound);
  CHECK(*result.lower_bound <= *result.best_rating);
  CHECK(check_bound(*result.search_space, available, *result.certificate).value_or("") == "");
  best.gap = gap(*result.best_rating, *result.lower_bound);
  return best;
}

// Checks that the rating is at most 0.02% worse than a MILP solver's, and that the gap is no
// larger.
inline void check_against_milp(const std::string& name, const nlohmann::json& row,
                               const PlanOptions& options) {
  constexpr double kWorse = 2e-4;
  const GoldenBest best = golden_best(name, options);
  const double milp = row["milp"].get<double>();
  CHECK(*best.result.best_rating <= milp * (1 + kWorse));
  const bool optimal = row["status"] == "optimal";
  const double milp_gap = optimal ? 0 : 1 - row["bound"].get<double>() / milp;
  CHECK(best.gap <= std::max(milp_gap, kProvenGap));
  if (optimal) CHECK(best.result.stopped_by == StopReason::kFinished);
}

}  // namespace shardwright::test_support
