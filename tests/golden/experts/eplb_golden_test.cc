// EPLB's recorded answers: compat mode makes every decision.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "core/experts/expert_plan.h"
#include "runtime/io/file.h"
#include "search/experts/eplb.h"
#include "search/experts/plan_experts.h"

namespace shardwright::eplb_golden_test {

namespace {

using namespace shardwright;
using namespace shardwright::experts;
using nlohmann::json;

template <class T>
std::vector<T> flat(const json& rows) {
  std::vector<T> numbers;
  for (const json& row : rows)
    for (const json& number : row)
      numbers.push_back(number.get<T>());
  return numbers;
}

ExpertProblem problem_of(const json& golden) {
  ExpertSpec spec;
  spec.num_layers = golden["loads"].size();
  spec.num_experts = golden["loads"][0].size();
  spec.loads = flat<double>(golden["loads"]);
  spec.num_gpus = golden["num_gpus"];
  spec.num_nodes = golden["num_nodes"];
  spec.num_slots = golden["num_replicas"];
  spec.num_groups = golden["num_groups"];
  return ExpertProblem::make(std::move(spec)).value();
}

}  // namespace

TEST_CASE("experts golden: compat mode gives EPLB's placements") {
  const auto text = read_file("tests/golden/experts/eplb.json.gz");
  REQUIRE(text.ok());
  const json cases = json::parse(*text)["cases"];
  CHECK(cases.size() == 42);
  InlineExecutor executor;
  for (const json& golden : cases) {
    CAPTURE(golden["name"].get<std::string>());
    const ExpertProblem problem = problem_of(golden);
    const Placement placement = place_eplb(problem, executor);
    CHECK(placement == flat<Expert>(golden["physical_to_logical"]));
    const std::vector<double> busiest = busiest_times(problem, placement);
    const std::vector<double> means = mean_times(problem);
    for (std::size_t layer = 0; layer < problem.num_layers(); ++layer) {
      CHECK(replica_counts(problem, placement.data() + layer * problem.num_slots()) ==
            golden["replica_count"][layer].get<std::vector<std::int32_t>>());
      // The golden file rounds loads to float32.
      CHECK(busiest[layer] / means[layer] ==
            doctest::Approx(golden["max_over_mean"][layer].get<double>()).epsilon(1e-6));
    }
  }
}

TEST_CASE("experts golden: best mode is never above EPLB, and close to its bounds") {
  const auto text = read_file("tests/golden/experts/eplb.json.gz");
  REQUIRE(text.ok());
  const json cases = json::parse(*text)["cases"];
  InlineExecutor executor;
  double gaps = 0;
  int counted = 0;
  for (const json& golden : cases) {
    CAPTURE(golden["name"].get<std::string>());
    const ExpertProblem problem = problem_of(golden);
    const PlannedExperts planned = plan_best(problem, {}, executor, Budget());
    const PlannedExperts eplb = plan_eplb(problem, {}, executor);
    const ExpertPlan& plan = planned.plan;
    CHECK(plan.objective <= eplb.plan.objective * (1 + kRounding));
    const Status status = check_plan(problem, plan, planned.terms);
    CHECK_MESSAGE(status.ok(), (status.ok() ? "" : status.error().to_string()));
    if (problem.slots_per_gpu() == 1) CHECK(plan.proven_optimal);
    if (problem.slots_per_gpu() == 1) continue;
    double bound = 0;
    for (const double layer : plan.lower_bound)
      bound += layer;
    gaps += plan.objective / bound - 1;
    ++counted;
  }
  CHECK(counted == 39);
  CHECK(gaps / counted < 0.001);
}

}  // namespace shardwright::eplb_golden_test
