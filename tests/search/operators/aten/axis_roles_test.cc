#include "core/operators/aten/axis_roles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "search/operators/aten/aten_model.h"
#include "tests/search/operators/aten/aten_fixture.h"
#include "tests/support/operators/aten_builder.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::axis_roles_test {

namespace {

using namespace shardwright::operators;
using redistribution::MeshShape;
using test_support::aten_request;
using test_support::AtenBuilder;
using test_support::flat_transitions;
using test_support::Random;

constexpr AxisRole kReplicate = AxisRole::kReplicate;
constexpr AxisRole kShard = AxisRole::kShard;
constexpr AxisRole kTensor = AxisRole::kTensor;

// y = x w with the gradient of w.
AtenGraph layer_training() {
  AtenBuilder b;
  const auto w = b.placeholder(AtenRole::kParameter, "layer.weight", {8, 8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {4, 8});
  const auto tangent = b.placeholder(AtenRole::kTangent, "0", {4, 8});
  const auto y = b.mm(x, w);
  b.last().module = "layer";
  b.output(y, AtenOutputRole::kOutput, "0");
  const auto gradient = b.mm(b.transpose(x), tangent);
  b.last().module = "layer";
  b.last().backward = true;
  b.output(gradient, AtenOutputRole::kGradient, "layer.weight");
  return b.make();
}

// y = pointwise(x w1) w2 in the modules a and b. With `is_one`, all is in one module.
AtenGraph two_layers(bool is_one) {
  AtenBuilder b;
  const auto w1 = b.placeholder(AtenRole::kParameter, "a.weight", {8, 8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {4, 8});
  const auto h = b.mm(x, w1);
  b.last().module = "a";
  const auto w2 = b.placeholder(AtenRole::kParameter, "b.weight", {8, 8});
  const auto y = b.mm(h, w2);
  b.last().module = is_one ? "a" : "b";
  b.output(y, AtenOutputRole::kOutput, "0");
  return b.make();
}

AtenGraph one_layer() {
  AtenBuilder b;
  const auto w = b.placeholder(AtenRole::kParameter, "a.weight", {8, 8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 8});
  b.output(b.mm(x, w), AtenOutputRole::kOutput, "0");
  return b.make();
}

Result<AtenSolution> solved(const AtenGraph& graph, const AtenRequest& request, double gap = 0) {
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  Budget budget;
  ProblemSolveOptions options;
  options.gap = gap;
  return solve_plan(graph, request, transitions, executor, budget, options);
}

// Tries all choices of the model without roles. The verifier says which plans keep to the roles.
std::optional<double> best_of_all(const AtenGraph& graph, const AtenRequest& request) {
  AtenRequest free = request;
  free.roles.clear();
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  const AtenModel model = build_model(graph, free, transitions, executor).value();
  const KeptChoices kept = all_choices(model);
  double combinations = 1;
  for (const auto& own : kept)
    combinations *= static_cast<double>(own.size());
  REQUIRE(combinations < 2e6);
  std::optional<double> best;
  std::vector<std::uint32_t> at(kept.size(), 0);
  for (;;) {
    const std::vector<std::uint32_t> choice = chosen(kept, at);
    const double cost = cost_of(model, choice);
    if (cost < kForbidden && (!best || cost < *best)) {
      AtenPlan plan = plan_of(model, choice, transitions);
      plan.roles = request.roles;
      if (evaluate(graph, plan, {request.device, transitions, 2}).violations.empty()) best = cost;
    }
    std::size_t v = 0;
    while (v < at.size() && ++at[v] == kept[v].size())
      at[v++] = 0;
    if (v == at.size()) return best;
  }
}

void check_equals_all(const AtenGraph& graph, const MeshShape& mesh, const AxisRoles& roles) {
  AtenRequest request = aten_request(mesh);
  request.roles = roles;
  const std::optional<double> best = best_of_all(graph, request);
  const Result<AtenSolution> solution = solved(graph, request);
  if (!best) {
    CHECK((!solution.ok() || solution->status == SolveStatus::kInfeasible));
    return;
  }
  REQUIRE(solution.ok());
  REQUIRE(solution->plan);
  CHECK(solution->plan->roles == roles);
  CHECK(std::abs(solution->evaluation.total_us() - *best) <= 1e-9 * *best);
}

bool has_role_violation(const AtenEvaluation& evaluation) {
  return std::any_of(
      evaluation.violations.begin(), evaluation.violations.end(),
      [](const std::string& text) { return text.find("does not allow") != std::string::npos; });
}

}  // namespace

TEST_CASE("axis roles: the plan is the cheapest of all that keep to the roles") {
  for (const AxisRole role : {kReplicate, kShard, kTensor}) {
    CAPTURE(static_cast<int>(role));
    check_equals_all(layer_training(), {2}, {role});
    check_equals_all(two_layers(false), {2}, {role});
    check_equals_all(two_layers(true), {2}, {role});
  }
  check_equals_all(one_layer(), {2, 2}, {kShard, kTensor});
  check_equals_all(one_layer(), {2, 2}, {kReplicate, kTensor});
  check_equals_all(one_layer(), {2, 2}, {kReplicate, kShard});
  check_equals_all(one_layer(), {2, 2}, {AxisRole::kFree, kShard});
}

TEST_CASE("axis roles: tiny random graphs cost what trying everything finds") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3, 4, 5, 6, 7, 8})) {
    CAPTURE(seed);
    Random random(seed);
    const AtenGraph graph = AtenGraph::make(test_support::random_aten_graph(random, 3)).value();
    for (const AxisRole role : {kReplicate, kShard, kTensor})
      check_equals_all(graph, {2}, {role});
  }
}

TEST_CASE("axis roles: FSDP gathers weights and scatters their gradients along its axis") {
  AtenRequest request = aten_request({4});
  request.roles = {kShard};
  const AtenGraph graph = layer_training();
  const AtenSolution solution = solved(graph, request).value();
  REQUIRE(solution.plan);
  const AtenPlan& plan = *solution.plan;
  CHECK(plan.nodes[0].outputs[0]->is_shard(0));     // the weight
  CHECK(plan.nodes[3].inputs[1]->is_replicate(0));  // gathered
  CHECK(plan.nodes[1].outputs[0]->dim(0) == 0);     // the batch
  CHECK(plan.nodes[5].outputs[0]->is_partial(0));   // its gradient
  CHECK(plan.outputs[1].placement == *plan.nodes[0].outputs[0]);
}

TEST_CASE("axis roles: the verifier refuses plans that break them") {
  const AtenGraph graph = layer_training();
  AtenRequest request = aten_request({2});
  TransitionModel transitions = flat_transitions(request);
  const AtenJudgement judgement{request.device, transitions, 2};
  for (const AxisRole role : {kReplicate, kShard, kTensor}) {
    request.roles = {role};
    AtenPlan plan = *solved(graph, request)->plan;
    CHECK(evaluate(graph, plan, judgement).violations.empty());
    for (const AxisRole other : {kReplicate, kShard, kTensor}) {
      if (other == role) continue;
      plan.roles = {other};
      CHECK(has_role_violation(evaluate(graph, plan, judgement)));
    }
  }
}

TEST_CASE("axis roles: the verifier refuses a part of the batch on a tensor axis") {
  const AtenGraph graph = layer_training();
  AtenRequest request = aten_request({2});
  request.roles = {kTensor};
  TransitionModel transitions = flat_transitions(request);
  const AtenJudgement judgement{request.device, transitions, 2};
  AtenPlan plan = *solved(graph, request)->plan;
  REQUIRE_FALSE(has_role_violation(evaluate(graph, plan, judgement)));
  plan.nodes[3].inputs[0] = plan.nodes[1].outputs[0]->with_shard(0, 0);
  CHECK(has_role_violation(evaluate(graph, plan, judgement)));
}

TEST_CASE("axis roles: a tensor moves along a tensor axis between modules only") {
  const auto moves = [](const AtenGraph& graph) {
    const RoleRules rules(graph, {2}, {kTensor});
    const auto consumer = static_cast<std::uint32_t>(4);  // of x w1
    return rules.may_move(rules.kind_of({consumer, 0}), 0, redistribution::AxisPlacement::shard(1),
                          redistribution::AxisPlacement::replicate());
  };
  CHECK(moves(two_layers(false)));
  CHECK_FALSE(moves(two_layers(true)));
}

TEST_CASE("axis roles: partial sums are reduced before a bias is added") {
  AtenBuilder b;
  const auto w = b.placeholder(AtenRole::kParameter, "a.weight", {8, 8});
  const auto bias = b.placeholder(AtenRole::kParameter, "a.bias", {8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {4, 8});
  const auto product = b.mm(x, w);
  b.last().module = "a";
  const auto sum = b.node("aten.add.Tensor", {bias, product}, {4, 8},
                          {{{"R"}, {"R", "R"}}, {{"S1"}, {"S0", "S1"}}});
  b.last().module = "a";
  const auto twice = b.pointwise({sum, sum});
  b.last().module = "a";
  b.output(twice, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  const RoleRules rules(graph, {2}, {kTensor});
  const auto reduces = [&](const TakenTensor& taken) {
    return rules.may_move(rules.kind_of(taken), 0,
                          redistribution::AxisPlacement::partial(redistribution::ReduceOp::kSum),
                          redistribution::AxisPlacement::replicate());
  };
  CHECK(reduces({sum, 1}));
  CHECK_FALSE(reduces({twice, 0}));
  check_equals_all(graph, {2}, {kTensor});
}

// y = sort(x w). Each device can sort the rows of its part of the batch. With `is_by_part` false,
// every device sorts all rows.
AtenGraph sorted_rows(bool is_by_part) {
  AtenBuilder b;
  const auto w = b.placeholder(AtenRole::kParameter, "a.weight", {8, 8});
  const auto x = b.placeholder(AtenRole::kInput, "x", {4, 8});
  const auto y =
      b.node("aten.sort.default", {b.mm(x, w)}, {4, 8}, {{{"R"}, {"R"}}, {{"S0"}, {"S0"}}});
  if (is_by_part) {
    b.spec.rules.back().entries.back().by_part = true;
  } else {
    b.spec.rules.back().entries.pop_back();
  }
  b.last().line = "model.py:3";
  b.output(y, AtenOutputRole::kOutput, "0");
  return b.make();
}

TEST_CASE("axis roles: an operator runs on a part of the batch along data axes only") {
  const AtenGraph graph = sorted_rows(true);
  AtenRequest request = aten_request({2});
  TransitionModel transitions = flat_transitions(request);
  for (const AxisRoles& roles : {AxisRoles{}, AxisRoles{kTensor}, AxisRoles{kShard}}) {
    request.roles = roles;
    const AtenSolution solution = solved(graph, request).value();
    REQUIRE(solution.plan);
    CHECK(solution.evaluation.violations.empty());
    const bool is_data = roles == AxisRoles{kShard};
    CHECK(solution.plan->nodes[3].outputs[0]->is_shard(0) == is_data);
    if (!is_data) continue;
    AtenPlan plan = *solution.plan;
    plan.roles.clear();
    CHECK_FALSE(evaluate(graph, plan, {request.device, transitions, 2}).violations.empty());
  }
}

TEST_CASE("axis roles: an operator that needs the whole batch is named") {
  AtenRequest request = aten_request({2});
  request.roles = {kShard};
  const Result<AtenSolution> solution = solved(sorted_rows(false), request);
  REQUIRE_FALSE(solution.ok());
  CHECK(solution.error().code == ErrorCode::kInfeasible);
  CHECK(solution.error().message.find("aten.sort.default (model.py:3)") == 0);
  CHECK(solution.error().where == "/nodes/3");
}

TEST_CASE("axis roles: programs have each role once, from outer to inner") {
  CHECK(expressible_roles(1) == std::vector<AxisRoles>{{kReplicate}, {kShard}, {kTensor}});
  CHECK(expressible_roles(2) ==
        std::vector<AxisRoles>{{kReplicate, kShard}, {kReplicate, kTensor}, {kShard, kTensor}});
  CHECK(expressible_roles(3) == std::vector<AxisRoles>{{kReplicate, kShard, kTensor}});
  CHECK(expressible_roles(4).empty());
}

TEST_CASE("axis roles: the plan does not depend on the number of workers") {
  Random random(7);
  const AtenGraph graph = AtenGraph::make(test_support::random_training_graph(random, 40)).value();
  AtenRequest request = aten_request({2, 2});
  request.roles = {kShard, kTensor};
  request.blocks = BlockSharing::kEqual;
  const Result<AtenSolution> alone = solved(graph, request);
  for (const unsigned workers : {2U, 4U, 8U}) {
    TransitionModel transitions = flat_transitions(request);
    test_support::ShufflingExecutor executor(workers, workers);
    Budget budget;
    const Result<AtenSolution> other = solve_plan(graph, request, transitions, executor, budget);
    REQUIRE(other.ok() == alone.ok());
    if (!alone.ok()) continue;
    CHECK(other->evaluation.total_us() == alone->evaluation.total_us());
    CHECK(other->lower_bound_us == alone->lower_bound_us);
  }
}

TEST_CASE("solve plan: a search with a gap ends with a plan within it, with and without a limit") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3, 4, 5, 6})) {
    CAPTURE(seed);
    Random random(seed);
    const AtenGraph graph =
        AtenGraph::make(test_support::random_training_graph(random, 30)).value();
    AtenRequest request = aten_request({2, 2});
    for (const bool is_limited : {false, true}) {
      CAPTURE(is_limited);
      const AtenSolution best = solved(graph, request).value();
      REQUIRE(best.plan);
      REQUIRE(best.status == SolveStatus::kOptimal);
      const double optimum = best.evaluation.total_us();
      for (const double gap : {1e-6, 0.01, 0.2}) {
        const AtenSolution near = solved(graph, request, gap).value();
        REQUIRE(near.plan);
        CHECK((near.status == SolveStatus::kOptimal || near.status == SolveStatus::kWithinGap));
        CHECK(near.lower_bound_us <= optimum * (1 + 1e-9));
        CHECK(near.evaluation.total_us() >= optimum * (1 - 1e-9));
        CHECK(near.lower_bound_us >= near.evaluation.total_us() * (1 - gap) * (1 - 1e-9));
        if (is_limited) CHECK(near.evaluation.peak_bytes <= *request.memory_limit);
      }
      request.memory_limit = best.evaluation.peak_bytes - best.evaluation.peak_bytes / 20;
      if (!is_limited && !solved(graph, request)->plan) break;
    }
  }
}

}  // namespace shardwright::axis_roles_test
