// One-step conversions: their costs, ColossalAI's order, and the conversions that it leaves out.
#include "search/operators/strategies/reshard_path.h"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace shardwright::one_step_test {

namespace {

using namespace shardwright::operators;

std::vector<ReshardStep> steps_from(std::vector<std::uint32_t> mesh,
                                    std::vector<std::int64_t> shape, const std::string& from) {
  const SpecTable table(DeviceMesh::make({std::move(mesh), {}, {}, {}}).value());
  return one_step_reshards(table, TensorShape{std::move(shape)}, DimSpecs::parse(from).value());
}

std::vector<std::string> results(const std::vector<ReshardStep>& steps, ReshardPattern pattern) {
  std::vector<std::string> texts;
  for (const ReshardStep& step : steps) {
    if (step.pattern == pattern) texts.push_back(step.result.to_string());
  }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("one step: the conversions that the peer's own tests expect") {
  const auto both = steps_from({4, 4}, {64, 32, 16}, "S0,S1,R");
  CHECK(results(both, ReshardPattern::kAllGather) == Texts{"R,S1,R", "S0,R,R"});
  CHECK(results(both, ReshardPattern::kAllToAll) == Texts{"S01,R,R", "R,S1,S0", "S0,R,S1"});
  const auto one = steps_from({4, 4}, {64, 32, 16}, "S0,R,R");
  CHECK(results(one, ReshardPattern::kShard) == Texts{"S01,R,R", "S0,S1,R", "S0,R,S1"});
}

TEST_CASE("one step: gathers, all-to-alls, splits, in this order") {
  const auto steps = steps_from({2, 2}, {8, 8}, "S0,R");
  REQUIRE(steps.size() == 4);
  CHECK(steps[0].pattern == ReshardPattern::kAllGather);
  CHECK(steps[1].pattern == ReshardPattern::kAllToAll);
  CHECK(steps[1].gather_dim == 0);
  CHECK(steps[1].shard_dim == 1);
  CHECK(steps[1].axis == 0);
  CHECK(steps[2].pattern == ReshardPattern::kShard);
  CHECK(steps[3].result.to_string() == "S0,S1");
}

TEST_CASE("one step: the cost is of the elements before the step") {
  const auto steps = steps_from({2, 2}, {8, 8}, "S0,R");  // 32 elements per device
  CHECK(steps[0].cost == PhaseCost{17.1, 100, 117.1});
  CHECK(steps[1].cost == PhaseCost{9.001, 9.001, 18.002});
  CHECK(steps[2].cost == PhaseCost{100, 17.1, 117.1});
}

TEST_CASE("one step: conversions to shares that are not whole are left out") {
  CHECK(results(steps_from({2, 4}, {6, 8}, "R,R"), ReshardPattern::kShard) ==
        Texts{"S0,R", "R,S0", "R,S1"});
  CHECK(results(steps_from({2, 4}, {6, 8}, "R,S1"), ReshardPattern::kAllToAll).empty());
  CHECK(steps_from({2, 2}, {3, 5}, "R,R").empty());
  CHECK(steps_from({2, 2}, {}, "").empty());
}

TEST_CASE("one step: on three axes only single axes move, and axes are appended in order") {
  const auto steps = steps_from({2, 2, 2}, {8, 8}, "S1,S02");
  CHECK(results(steps, ReshardPattern::kAllGather) == Texts{"R,S02", "S1,S0"});
  CHECK(results(steps, ReshardPattern::kAllToAll).empty());
  CHECK(results(steps, ReshardPattern::kShard).empty());
  const auto single = steps_from({2, 2, 2}, {8, 8}, "S1,R");
  CHECK(results(single, ReshardPattern::kAllToAll) == Texts{"R,S1"});
  CHECK(results(single, ReshardPattern::kShard) == Texts{"S12,R", "S1,S0", "S1,S2"});
}

TEST_CASE("one step: results are distinct and valid, and have the predicted number of elements") {
  SpecTable table(DeviceMesh::make({{2, 4, 2}, {}, {}, {}}).value());
  const TensorShape shape{{16, 8, 12}};
  std::vector<DimSpecs> open{DimSpecs(3)};
  std::set<std::uint64_t> known{0};
  while (!open.empty()) {
    const DimSpecs from = open.back();
    open.pop_back();
    std::set<std::uint64_t> results;
    for (const ReshardStep& step : one_step_reshards(table, shape, from)) {
      REQUIRE(table.valid(shape, step.result));
      CHECK(results.insert(step.result.bits()).second);
      CHECK(elements_after(table.mesh(), step, table.local_elements(shape, from)) ==
            table.local_elements(shape, step.result));
      if (known.insert(step.result.bits()).second) open.push_back(step.result);
    }
  }
  CHECK(known.size() > 40);
}

}  // namespace shardwright::one_step_test
