#include "search/operators/aten/solve_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/aten_variables.h"
#include "search/operators/aten/lightest_search.h"
#include "search/operators/aten/limited_search.h"
#include "search/operators/aten/transition_model.h"
#include "tests/search/operators/aten/aten_fixture.h"
#include "tests/support/operators/aten_builder.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::solve_plan_test {

namespace {

using namespace shardwright::operators;
using redistribution::MeshShape;
using redistribution::Placement;
using test_support::aten_request;
using test_support::AtenBuilder;
using test_support::flat_transitions;
using test_support::Random;

AtenSolution planned(const AtenGraph& graph, const AtenRequest& request) {
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  Budget budget;
  return solve_plan(graph, request, transitions, executor, budget).value();
}

// Returns every input of a node or output of the graph, since all of them may be redistributed.
std::vector<TakenTensor> all_taken(const AtenGraph& graph) {
  std::vector<TakenTensor> all;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (std::uint32_t i = 0; i < graph[n].inputs.size(); ++i)
      all.push_back({n, i});
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o)
    all.push_back({static_cast<std::uint32_t>(graph.size() + o), 0});
  return all;
}

// Tries all choices of nodes and outputs of the graph. The evaluator computes their memory.
class Naive {
 public:
  Naive(const AtenGraph& graph, const AtenRequest& request)
      : graph_(graph),
        request_(request),
        transitions_(flat_transitions(request)),
        model_(build_model(graph, request, transitions_, executor_).value()),
        kept_(all_choices(model_)),
        problem_(lower(model_, kept_, std::nullopt).value()) {}

  double combinations() const {
    double product = 1;
    for (const auto& own : kept_)
      product *= static_cast<double>(own.size());
    return product;
  }

  // Returns the least cost with at most `limit` bytes, or nullopt if no choice fits.
  std::optional<double> best(std::optional<std::int64_t> limit) {
    std::optional<double> best;
    std::vector<std::uint32_t> choice(kept_.size(), 0);
    do {
      const double cost = evaluate(problem_.lowered.instance(), choice).total();
      if (!(cost < kForbidden) || (best && cost >= *best)) continue;
      if (limit && peak(choice) > *limit) continue;
      best = cost;
    } while (next(choice));
    return best;
  }

 private:
  std::int64_t peak(const std::vector<std::uint32_t>& choice) {
    const AtenPlan plan = plan_of(model_, chosen(kept_, choice), transitions_);
    return evaluate(graph_, plan, {request_.device, transitions_, request_.optimizer_states})
        .peak_bytes;
  }

  bool next(std::vector<std::uint32_t>& choice) const {
    for (std::size_t v = 0; v < choice.size(); ++v) {
      if (++choice[v] < kept_[v].size()) return true;
      choice[v] = 0;
    }
    return false;
  }

  const AtenGraph& graph_;
  const AtenRequest& request_;
  TransitionModel transitions_;
  InlineExecutor executor_;
  AtenModel model_;
  KeptChoices kept_;
  OperatorProblem problem_;
};

// Solves the problem with all choices and all movable tensors, and limits memory at all times from
// the start.
ProblemSolution solved_whole(const AtenGraph& graph, const AtenRequest& request) {
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  Budget budget;
  const AtenModel model =
      build_model(graph, request, transitions, executor, all_taken(graph)).value();
  const OperatorProblem problem = lower(model, all_choices(model), request.memory_limit).value();
  return solve_problem(problem, executor, budget);
}

// Checks that no plan exists below the minimum of `shortage`, and that a plan exists with
// `enough_bytes`.
void check_shortage(const AtenGraph& graph, AtenRequest request, const MemoryShortage& shortage) {
  CHECK(shortage.minimum_bytes > *request.memory_limit);
  CHECK_FALSE(Naive(graph, request).best(shortage.minimum_bytes - 1));
  REQUIRE(shortage.enough_bytes);
  CHECK(shortage.minimum_is_exact == (*shortage.enough_bytes == shortage.minimum_bytes));
  request.memory_limit = shortage.enough_bytes;
  const AtenSolution solution = planned(graph, request);
  REQUIRE(solution.plan);
  CHECK(solution.evaluation.peak_bytes <= *shortage.enough_bytes);
}

void check_equals_naive(const AtenGraph& graph, const AtenRequest& request) {
  const std::optional<double> naive = Naive(graph, request).best(request.memory_limit);
  const AtenSolution solution = planned(graph, request);
  if (!naive) {
    CHECK(solution.status == SolveStatus::kInfeasible);
    REQUIRE(solution.shortage);
    check_shortage(graph, request, *solution.shortage);
    return;
  }
  REQUIRE(solution.status == SolveStatus::kOptimal);
  CHECK(std::abs(solution.evaluation.total_us() - *naive) <= 1e-9 * *naive);
  CHECK(solution.lower_bound_us <= solution.evaluation.total_us() * (1 + 1e-9));
  if (request.memory_limit) CHECK(solution.evaluation.peak_bytes <= *request.memory_limit);
}

}  // namespace

TEST_CASE("solve plan: tiny random graphs cost what trying everything finds, at falling limits") {
  constexpr double kMost = 3e5;
  int tried = 0;
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})) {
    CAPTURE(seed);
    Random random(seed);
    for (const MeshShape& mesh : {MeshShape{2}, MeshShape{4}, MeshShape{2, 2}}) {
      const AtenGraph graph =
          AtenGraph::make(test_support::random_aten_graph(random, mesh.size() == 1 ? 4 : 1))
              .value();
      AtenRequest request = aten_request(mesh);
      if (seed % 2 == 0) request.overlap = {0.8, 0.4};
      if (Naive(graph, request).combinations() > kMost) continue;
      check_equals_naive(graph, request);
      ++tried;
      // The limit falls by a tenth each time, so that it also restricts redistributions.
      request.memory_limit = planned(graph, request).evaluation.peak_bytes;
      for (int fall = 0; fall < 8; ++fall) {
        check_equals_naive(graph, request);
        *request.memory_limit -= *request.memory_limit / 10;
      }
    }
  }
  CHECK(tried >= 1);
}

TEST_CASE("solve plan: the instance costs and holds what the verifier finds, for any choice") {
  for (const std::uint64_t seed : test_support::seeds({21, 22, 23, 24})) {
    CAPTURE(seed);
    Random random(seed);
    const AtenGraph graph = AtenGraph::make(test_support::random_aten_graph(random, 8)).value();
    AtenRequest request = aten_request({2, 2});
    request.memory_limit = std::int64_t{1} << 40;
    if (seed % 2 == 0) request.overlap = {0.4, 0.8};
    TransitionModel transitions = flat_transitions(request);
    InlineExecutor executor;
    const AtenModel model =
        build_model(graph, request, transitions, executor, all_taken(graph)).value();
    const KeptChoices kept = all_choices(model);
    const OperatorProblem problem = lower(model, kept, request.memory_limit).value();
    const CostInstance& instance = problem.lowered.instance();
    int compared = 0;
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::uint32_t> choice;
      for (std::uint32_t v = 0; v < model.variables.num_consumers(); ++v)
        choice.push_back(static_cast<std::uint32_t>(random.below(kept[v].size())));
      choose_movers(model.variables, transitions, choice);
      const CostEvaluation costs = evaluate(instance, choice);
      if (!(costs.total() < kForbidden)) continue;
      const AtenPlan plan = plan_of(model, choice, transitions);
      const AtenEvaluation found =
          evaluate(graph, plan, {request.device, transitions, request.optimizer_states});
      CHECK(found.violations.empty());
      CHECK(std::abs(found.total_us() - costs.total()) <= 1e-9 * costs.total());
      CHECK(found.peak_bytes == costs.peak_bytes);
      ++compared;
    }
    CHECK(compared > 0);
    MESSAGE(compared << " choices compared");
  }
}

TEST_CASE("solve plan: operators hide what they may of moving parameters and gradients") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training(8192, 4096)).value();
  AtenRequest request = aten_request({4});
  const Placement rows = Placement().with_shard(0, 0);
  request.constraints = {{AtenConstraint::Of::kInput, "x", rows},
                         {AtenConstraint::Of::kOutput, "0", rows},
                         {AtenConstraint::Of::kParameter, "layers.0.weight", rows},
                         {AtenConstraint::Of::kParameter, "layers.1.weight", rows}};
  const AtenSolution without = planned(graph, request);
  REQUIRE(without.status == SolveStatus::kOptimal);
  CHECK(without.evaluation.hidden_us == 0);
  double before = without.evaluation.total_us();
  for (const double share : {0.25, 0.5, 1.0}) {
    request.overlap = {share, share};
    for (const bool is_limited : {false, true}) {
      // With a memory limit the model differs, but it must hide times as well.
      request.memory_limit.reset();
      if (is_limited) request.memory_limit = planned(graph, request).evaluation.peak_bytes - 1;
      const AtenSolution solution = planned(graph, request);
      REQUIRE(solution.status == SolveStatus::kOptimal);
      const AtenEvaluation& found = solution.evaluation;
      CHECK(found.hidden_us > 0);
      CHECK(found.hidden_us <= share * found.redistribute_us * (1 + 1e-12));
      if (is_limited) continue;
      // A larger share hides more, as long as operators have time for it.
      CHECK(found.total_us() <= before);
      CHECK(found.total_us() < without.evaluation.total_us());
      before = found.total_us();
    }
  }
}

TEST_CASE("solve plan: large products are sharded, and a memory limit shards parameters") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training(8192, 4096)).value();
  AtenRequest request = aten_request({4, 2});
  const AtenSolution free = planned(graph, request);
  REQUIRE(free.status == SolveStatus::kOptimal);
  request.memory_limit = free.evaluation.peak_bytes * 3 / 4;
  const AtenSolution limited = planned(graph, request);
  REQUIRE(limited.status == SolveStatus::kOptimal);
  CHECK(limited.evaluation.peak_bytes <= *request.memory_limit);
  CHECK(limited.evaluation.total_us() >= free.evaluation.total_us());
  request.memory_limit = 1000;
  const AtenSolution none = planned(graph, request);
  CHECK(none.status == SolveStatus::kInfeasible);
  REQUIRE(none.shortage);
  CHECK(none.shortage->minimum_bytes > 1000);
}

TEST_CASE("solve plan: the search by prices finds valid plans with a bound") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training(8192, 4096)).value();
  AtenRequest request = aten_request({4, 2});
  const AtenSolution free = planned(graph, request);
  request.memory_limit = free.evaluation.peak_bytes * 3 / 4;
  const ProblemSolution exact = solved_whole(graph, request);
  TransitionModel transitions = flat_transitions(request);
  InlineExecutor executor;
  Budget budget;
  const AtenModel model =
      build_model(graph, request, transitions, executor, all_taken(graph)).value();
  ChoicePruning first(model, {});
  const SievedSolution cheapest = sieved_search(model, first, executor, budget, {}).value();
  KeptChoices kept;
  const LimitedContext context{&kept, [](const SievedSolution&) { return true; }};
  const auto found =
      limited_search(model, cheapest, *request.memory_limit, context, executor, budget, {}).value();
  REQUIRE(found);
  CHECK(kept.size() == model.variables.num_consumers());
  CHECK(found->objective >= exact.objective * (1 - 1e-9));
  CHECK(found->lower_bound <= exact.objective * (1 + 1e-9));
  CHECK(evaluate(graph, plan_of(model, found->choice, transitions),
                 {request.device, transitions, request.optimizer_states})
            .peak_bytes <= *request.memory_limit);
}

TEST_CASE(
    "solve plan: the lightest choice holds what the verifier finds, and no less than it must") {
  for (const std::uint64_t seed : test_support::seeds({41, 42, 43, 44})) {
    CAPTURE(seed);
    Random random(seed);
    const AtenGraph graph = AtenGraph::make(test_support::random_aten_graph(random, 8)).value();
    AtenRequest request = aten_request({2, 2});
    request.memory_limit = 0;
    TransitionModel transitions = flat_transitions(request);
    InlineExecutor executor;
    Budget budget;
    const AtenModel model =
        build_model(graph, request, transitions, executor, all_taken(graph)).value();
    ChoicePruning pruning(model, {});
    const SievedSolution cheapest = sieved_search(model, pruning, executor, budget, {}).value();
    const LightestSolution lightest =
        lightest_search(model, cheapest.choice, cheapest.objective, executor, budget, {}).value();
    REQUIRE_FALSE(lightest.choice.empty());
    const auto peak = [&](const std::vector<std::uint32_t>& choice) {
      return evaluate(graph, plan_of(model, choice, transitions),
                      {request.device, transitions, request.optimizer_states})
          .peak_bytes;
    };
    CHECK(lightest.peak == peak(lightest.choice));
    CHECK(lightest.peak <= peak(cheapest.choice));
    CHECK(least_bytes(model, lightest.fullest, budget) <= lightest.peak);
    CHECK(least_bytes(model, lightest.fullest, budget) >= least_peak(model.usages));
  }
}

TEST_CASE("solve plan: placements that the user demands are kept, impossible ones are errors") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training()).value();
  AtenRequest request = aten_request({2, 2});
  const redistribution::Placement rows = redistribution::Placement().with_shard(0, 0);
  request.constraints = {{AtenConstraint::Of::kInput, "x", rows},
                         {AtenConstraint::Of::kParameter, "layers.0.weight", rows},
                         {AtenConstraint::Of::kOutput, "0", rows}};
  const AtenSolution solution = planned(graph, request);
  REQUIRE(solution.plan);
  CHECK(*solution.plan->nodes[2].outputs[0] == rows);
  CHECK(*solution.plan->nodes[0].outputs[0] == rows);
  CHECK(solution.plan->outputs[0].placement == rows);
  CHECK(*solution.plan->nodes[3].outputs[0] == rows);  // the tangent
  CHECK(solution.plan->outputs[2].placement == rows);  // the gradient
  InlineExecutor executor;
  Budget budget;
  TransitionModel transitions = flat_transitions(request);
  request.constraints[0].target = "y";
  const auto unknown = solve_plan(graph, request, transitions, executor, budget);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().to_string() == "/placements/inputs/y: unknown input \"y\"; known: x");
  request.constraints[0] = {AtenConstraint::Of::kInput, "x", rows.with_shard(1, 5)};
  const auto impossible = solve_plan(graph, request, transitions, executor, budget);
  REQUIRE_FALSE(impossible.ok());
  CHECK(
      impossible.error().to_string() ==
      "/placements/inputs/x: a tensor of shape [8, 4], with 2 dimensions, cannot be placed as [S0, "
      "S5] on this mesh; allowed: [R, R], [R, S0], [R, S1], [S0, R], [S0, S0], [S0, S1], [S1, R], "
      "[S1, S0], [S1, S1]");
}

TEST_CASE("solve plan: equal blocks run alike and cost at least as much as free ones") {
  AtenBuilder b;
  std::vector<std::uint32_t> weights;
  for (int block = 0; block < 4; ++block) {
    weights.push_back(b.placeholder(AtenRole::kParameter,
                                    "layers." + std::to_string(block) + ".weight", {1024, 1024}));
  }
  std::uint32_t x = b.placeholder(AtenRole::kInput, "x", {4096, 1024});
  for (int block = 0; block < 4; ++block) {
    x = b.mm(x, weights[static_cast<std::size_t>(block)]);
    b.last().module = "layers." + std::to_string(block);
  }
  b.output(x, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  AtenRequest request = aten_request({4});
  const AtenSolution free = planned(graph, request);
  request.blocks = BlockSharing::kEqual;
  const AtenSolution equal = planned(graph, request);
  REQUIRE(equal.status == SolveStatus::kOptimal);
  CHECK(equal.evaluation.total_us() >= free.evaluation.total_us() * (1 - 1e-9));
  for (std::uint32_t block = 1; block < 4; ++block) {
    CHECK(equal.plan->nodes[block].outputs == equal.plan->nodes[0].outputs);
    CHECK(equal.plan->nodes[5 + block].inputs == equal.plan->nodes[5].inputs);
  }
}

TEST_CASE("solve plan: repeated blocks within limits that bind cost what the whole problem does") {
  constexpr int kBlocks = 8;
  AtenBuilder b;
  std::vector<std::uint32_t> weights;
  for (int block = 0; block < kBlocks; ++block) {
    weights.push_back(b.placeholder(AtenRole::kParameter,
                                    "layers." + std::to_string(block) + ".weight", {1024, 1024}));
  }
  std::uint32_t x = b.placeholder(AtenRole::kInput, "x", {4096, 1024});
  for (int block = 0; block < kBlocks; ++block) {
    x = b.mm(x, weights[static_cast<std::size_t>(block)]);
    b.last().module = "layers." + std::to_string(block);
    b.output(x, AtenOutputRole::kOutput, std::to_string(block));
  }
  const AtenGraph graph = b.make();
  AtenRequest request = aten_request({4});
  const std::int64_t peak = planned(graph, request).evaluation.peak_bytes;
  int limited = 0;
  for (const int percent : {95, 85, 75, 60, 45, 30}) {
    CAPTURE(percent);
    request.memory_limit = peak * percent / 100;
    const ProblemSolution whole = solved_whole(graph, request);
    const AtenSolution solution = planned(graph, request);
    CHECK(solution.status == whole.status);
    if (whole.status != SolveStatus::kOptimal) continue;
    CHECK(std::abs(solution.evaluation.total_us() - whole.objective) <= 1e-9 * whole.objective);
    CHECK(solution.evaluation.peak_bytes <= *request.memory_limit);
    limited += solution.without_limit_us ? 1 : 0;
  }
  CHECK(limited > 1);
}

TEST_CASE("solve plan: the plan does not depend on the order of tasks") {
  Random random(77);
  const AtenGraph graph = AtenGraph::make(test_support::random_aten_graph(random, 12)).value();
  const AtenRequest request = aten_request({2, 2});
  const AtenSolution expected = planned(graph, request);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    TransitionModel transitions = flat_transitions(request);
    test_support::ShufflingExecutor executor(4, seed);
    Budget budget;
    const AtenSolution found = solve_plan(graph, request, transitions, executor, budget).value();
    CHECK(found.evaluation.total_us() == expected.evaluation.total_us());
    for (std::size_t n = 0; n < graph.size(); ++n)
      CHECK(found.plan->nodes[n].outputs == expected.plan->nodes[n].outputs);
  }
}

TEST_CASE("solve plan: with AutoParallel's estimate every move costs 1 more") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 8});
  const auto y = b.node("op", {x}, {8, 8}, {{{"S0"}, {"S0"}}});
  b.output(y, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  AtenRequest request = aten_request({2});
  request.constraints = {{AtenConstraint::Of::kInput, "x", {}}};
  TransitionModel transitions = flat_transitions(request, RedistributionChoice::kAutoParallel);
  InlineExecutor executor;
  Budget budget;
  const AtenSolution solution = solve_plan(graph, request, transitions, executor, budget).value();
  REQUIRE(solution.plan);
  // The slice is free, but the redistribution is not.
  CHECK(solution.plan->nodes[1].redistribute_us[0] == 1);
}

TEST_CASE("solve plan: the moves of a plan take the time that it says, step by step") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training(1024, 512)).value();
  for (const RedistributionChoice choice :
       {RedistributionChoice::kShortest, RedistributionChoice::kAutoParallel}) {
    const Placement columns = Placement().with_shard(0, 1).with_shard(1, 1);
    AtenRequest request = aten_request({2, 2});
    request.constraints = {{AtenConstraint::Of::kInput, "x", columns},
                           {AtenConstraint::Of::kParameter, "layers.0.weight", columns},
                           {AtenConstraint::Of::kParameter, "layers.1.weight", columns},
                           {AtenConstraint::Of::kOutput, "0", {}}};
    TransitionModel transitions = flat_transitions(request, choice);
    InlineExecutor executor;
    Budget budget;
    const AtenSolution solution = solve_plan(graph, request, transitions, executor, budget).value();
    REQUIRE(solution.plan);
    double sum = 0;
    const std::vector<AtenMove> moves = moves_of(graph, *solution.plan, transitions);
    CHECK(moves.size() > 2);
    for (const AtenMove& move : moves) {
      REQUIRE(move.path.found);
      if (choice == RedistributionChoice::kShortest)
        CHECK(move.path.cost == doctest::Approx(move.us));
      CHECK((move.sent_bytes > 0) == (move.path.num_collectives() > 0));
      const MaybePlacement target = move.to_output
                                        ? solution.plan->outputs[move.index].placement
                                        : solution.plan->nodes[move.index].inputs[move.input];
      CHECK(move.path.steps.back().after == *target);
      sum += move.us;
    }
    CHECK(sum == doctest::Approx(solution.evaluation.redistribute_us));
  }
}

TEST_CASE("solve plan: a limit that binds leaves the time without it") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training(64, 64)).value();
  AtenRequest request = aten_request({4});
  const AtenSolution free = planned(graph, request);
  CHECK_FALSE(free.without_limit_us);
  request.memory_limit = free.evaluation.peak_bytes - 1;
  const AtenSolution limited = planned(graph, request);
  REQUIRE(limited.without_limit_us);
  CHECK(*limited.without_limit_us == free.evaluation.total_us());
}

}  // namespace shardwright::solve_plan_test
