#include <doctest/doctest.h>

#include "core/program/simulate.h"

namespace shardwright::simulate_test {

using namespace shardwright::program;

namespace {

const ProcessMesh kPair = ProcessMesh::make({2}, {0, 1}).value();

Step gather(std::vector<Rank> group) {
  Step step;
  step.kind = StepKind::kAllGather;
  step.group = std::move(group);
  return step;
}

Step message(StepKind kind, Rank from, Rank to, Part part) {
  Step step;
  step.kind = kind;
  step.src = from;
  step.dst = to;
  step.part = std::move(part);
  return step;
}

Step concat(std::vector<Part> parts) {
  Step step;
  step.kind = StepKind::kConcat;
  step.parts = std::move(parts);
  return step;
}

}  // namespace

TEST_CASE("simulate: a gather of both halves is accepted, a gather of one half is not") {
  const DistAttr source{kPair, {0}, {}};
  const DistAttr target{kPair, {-1}, {}};
  ReshardPlan plan;
  plan.at(0) = {gather({0, 1})};
  plan.at(1) = {gather({0, 1})};
  CHECK(simulate({8}, source, target, plan).ok());
  CHECK_FALSE(simulate({8}, source, target, {}).ok());
  plan.at(0) = {gather({1, 0})};
  plan.at(1) = {gather({1, 0})};
  CHECK(simulate({8}, source, target, plan).problem.ends_with("wrong data"));
}

TEST_CASE("simulate: members that name different groups are an error") {
  const DistAttr source{kPair, {0}, {}};
  const DistAttr target{kPair, {-1}, {}};
  ReshardPlan plan;
  plan.at(0) = {gather({0, 1})};
  plan.at(1) = {gather({1})};
  const Simulation simulation = simulate({8}, source, target, plan);
  CHECK(simulation.hangs);
  CHECK(simulation.groups_disagree);
  plan.at(1) = {gather({0})};
  CHECK(simulate({8}, source, target, plan).groups_disagree);
}

TEST_CASE("simulate: a send waits for its receiver, and no rank sends to itself") {
  const Part low{{0, 4}};
  const Part high{{4, 8}};
  const DistAttr source{kPair, {0}, {}};
  const DistAttr target{ProcessMesh::make({2}, {1, 0}).value(), {0}, {}};
  ReshardPlan plan;
  // Both ranks send before they receive.
  plan.at(0) = {message(StepKind::kSend, 0, 1, low), message(StepKind::kRecv, 1, 0, high),
                concat({high})};
  plan.at(1) = {message(StepKind::kSend, 1, 0, high), message(StepKind::kRecv, 0, 1, low),
                concat({low})};
  CHECK(simulate({8}, source, target, plan).hangs);
  std::swap(plan.at(1)[0], plan.at(1)[1]);
  CHECK(simulate({8}, source, target, plan).ok());
  plan.at(0) = {message(StepKind::kSend, 0, 0, low)};
  CHECK(simulate({8}, source, target, plan).sends_to_itself);
}

TEST_CASE("simulate: every reduction is exact") {
  for (const Reduction due : {Reduction::kSum, Reduction::kAvg, Reduction::kMax}) {
    const DistAttr source{kPair, {-1}, {due}};
    const DistAttr target{kPair, {-1}, {}};
    Step reduce;
    reduce.kind = StepKind::kAllReduce;
    reduce.group = {0, 1};
    reduce.reduction = op_of(due);
    ReshardPlan plan;
    plan.at(0) = {reduce};
    plan.at(1) = {reduce};
    CHECK(simulate({8}, source, target, plan).ok());
    CHECK(simulate({8}, source, source, {}).ok());
    CHECK_FALSE(simulate({8}, source, target, {}).ok());
    plan.at(0)[0].reduction = plan.at(1)[0].reduction =
        op_of(due == Reduction::kMax ? Reduction::kSum : Reduction::kMax);
    CHECK_FALSE(simulate({8}, source, target, plan).ok());
  }
}

TEST_CASE("part: cuts are as even as possible, joins need one differing dimension") {
  CHECK(cut(7, 3, 0) == Interval{0, 3});
  CHECK(cut(7, 3, 1) == Interval{3, 5});
  CHECK(cut(7, 3, 2) == Interval{5, 7});
  CHECK(cut(2, 3, 2).size() == 0);
  const Part a{{0, 4}, {0, 2}};
  const Part b{{0, 4}, {2, 8}};
  REQUIRE(join(b, a).has_value());
  CHECK(join(b, a)->dim == 1);
  CHECK_FALSE(join(b, a)->first_is_lower);
  CHECK(join(b, a)->joined == Part{{0, 4}, {0, 8}});
  CHECK_FALSE(join(a, Part{{4, 8}, {2, 8}}).has_value());
  CHECK_FALSE(join(a, Part{{0, 4}, {3, 8}}).has_value());
  const Part empty{{0, 4}, {0, 0}};
  REQUIRE(join(empty, empty).has_value());
  CHECK(join(empty, empty)->joined == empty);
  CHECK_FALSE(join(a, a).has_value());
  CHECK(overlap(empty, empty));
  CHECK_FALSE(overlap(a, b));
  CHECK(check_extents({std::int64_t{1} << 48, 0, -1}).ok());
  CHECK_FALSE(check_extents({std::int64_t{1} << 40, 1 << 20}).ok());
}

}  // namespace shardwright::simulate_test
